"""timm: create_loader, with the loader that keeps its workers from epoch to epoch."""

from timm.data import create_loader

import stack


class Pictures(stack.Items):
    """Has a transform, as create_loader sets one, and labels."""

    transform = None

    def __getitem__(self, index):
        return super().__getitem__(index), index % 10


def main():
    args = stack.arguments(__doc__)
    loader = create_loader(
        Pictures(args), input_size=(3, 8, 8), batch_size=stack.BATCH, is_training=True, use_prefetcher=False,
        num_workers=args.workers, use_multi_epochs_loader=True, pin_memory=False)
    stack.train(args, (x for x, _ in loader))


if __name__ == "__main__":
    main()
