"""torchdata's nodes: a pipeline of a sampler, a parallel map, a batcher and a prefetcher, without a DataLoader."""

import torch
from torch.utils.data import SequentialSampler
from torchdata import nodes

import stack


def main():
    args = stack.arguments(__doc__)
    items = stack.Items(args)
    node = nodes.SamplerWrapper(SequentialSampler(items))
    node = nodes.ParallelMapper(node, items.__getitem__, num_workers=args.workers, method="process")
    node = nodes.Prefetcher(nodes.Mapper(nodes.Batcher(node, stack.BATCH), torch.stack), prefetch_factor=2)
    stack.train(args, nodes.Loader(node))


if __name__ == "__main__":
    main()
