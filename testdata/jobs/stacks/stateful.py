"""torchdata's StatefulDataLoader, a DataLoader that can be stopped and resumed."""

from torchdata.stateful_dataloader import StatefulDataLoader

import stack


def main():
    args = stack.arguments(__doc__)
    loader = StatefulDataLoader(stack.Items(args), batch_size=stack.BATCH, shuffle=True, num_workers=args.workers)
    stack.train(args, loader)


if __name__ == "__main__":
    main()
