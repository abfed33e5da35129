"""Two ranks of DistributedDataParallel over gloo, started by torchrun, each with a loader of its own."""

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

import stack


def main():
    args = stack.arguments(__doc__)
    torch.distributed.init_process_group("gloo")
    data = stack.Items(args, torch.distributed.get_world_size())
    loader = DataLoader(data, batch_size=stack.BATCH, sampler=DistributedSampler(data), num_workers=args.workers)
    stack.train(args, loader, DistributedDataParallel, result=torch.distributed.get_rank() == 0)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
