"""Accelerate: a DataLoader that the Accelerator prepares."""

import torch
from accelerate import Accelerator, DataLoaderConfiguration
from torch.utils.data import DataLoader

import stack


def main():
    args = stack.arguments(__doc__, dispatch="process 0 makes every batch", stateful="with torchdata's DataLoader")
    config = DataLoaderConfiguration(dispatch_batches=args.dispatch, use_stateful_dataloader=args.stateful)
    accelerator = Accelerator(cpu=True, dataloader_config=config)
    net = stack.Net(args)
    loader = DataLoader(stack.Items(args), batch_size=stack.BATCH, shuffle=True, num_workers=args.workers)
    model, optimizer, loader = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.01), loader)
    for x in loader:
        optimizer.zero_grad()
        accelerator.backward(model(x))
        optimizer.step()
    if accelerator.is_main_process:
        net.result()


if __name__ == "__main__":
    main()
