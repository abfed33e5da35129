"""ultralytics: build_dataloader, whose InfiniteDataLoader keeps its workers for good."""

from ultralytics.data.build import build_dataloader

import stack


def main():
    args = stack.arguments(__doc__)
    loader = build_dataloader(stack.Items(args), stack.BATCH, args.workers, shuffle=False)
    stack.train(args, loader)


if __name__ == "__main__":
    main()
