"""MONAI: a CacheDataset whose random transform is done anew for each item, and its DataLoader; or its ThreadDataLoader."""

from monai.data import CacheDataset, DataLoader, ThreadDataLoader
from monai.transforms import Compose, RandomizableTransform

import stack


class Augment(RandomizableTransform):
    """Random, so CacheDataset keeps what comes before it and calls this each time."""

    def __init__(self, args):
        super().__init__()
        self.args = args

    def __call__(self, number):
        stack.work(self.args)
        return stack.features(number)


def main():
    args = stack.arguments(__doc__, threads="the loader that takes its batches in a thread")
    data = CacheDataset(list(range(args.steps * stack.BATCH)), Compose([int, Augment(args)]), num_workers=1, progress=False)
    kind = ThreadDataLoader if args.threads else DataLoader
    loader = kind(data, batch_size=stack.BATCH, shuffle=True, num_workers=args.workers)
    stack.train(args, (batch.as_tensor() if hasattr(batch, "as_tensor") else batch for batch in loader))


if __name__ == "__main__":
    main()
