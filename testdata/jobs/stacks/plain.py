"""PyTorch's own DataLoader and a loop by hand."""

from torch.utils.data import DataLoader

import stack


def main():
    args = stack.arguments(__doc__)
    loader = DataLoader(stack.Items(args), batch_size=stack.BATCH, shuffle=True, num_workers=args.workers)
    stack.train(args, loader)


if __name__ == "__main__":
    main()
