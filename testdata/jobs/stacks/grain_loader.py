"""Grain's DataLoader, which JAX's users have: worker processes of its own, begun by spawn."""

import grain.python as grain
import numpy
import torch

import stack


class Source:
    def __init__(self, args):
        self.items = stack.Items(args)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index].numpy()


def main():
    args = stack.arguments(__doc__)
    source = Source(args)
    loader = grain.DataLoader(
        data_source=source, sampler=grain.IndexSampler(len(source), shuffle=False, num_epochs=1, shard_options=grain.NoSharding()),
        operations=[grain.Batch(stack.BATCH)], worker_count=args.workers)
    stack.train(args, (torch.from_numpy(numpy.array(batch)) for batch in loader))


if __name__ == "__main__":
    main()
