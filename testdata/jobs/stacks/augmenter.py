"""batchgenerators, which nnU-Net is fed by: processes of its own that make whole batches."""

import numpy
import torch
from batchgenerators.dataloading.data_loader import DataLoader
from batchgenerators.dataloading.multi_threaded_augmenter import MultiThreadedAugmenter

import stack


class Patches(DataLoader):
    def __init__(self, args):
        super().__init__(None, stack.BATCH, args.workers, shuffle=False, infinite=False)
        self.indices, self.args = list(range(args.steps * stack.BATCH)), args

    def generate_train_batch(self):
        indices = self.get_indices()
        for _ in indices:
            stack.work(self.args)
        return {"data": numpy.stack([stack.features(index).numpy() for index in indices])}


def main():
    args = stack.arguments(__doc__)
    batches = MultiThreadedAugmenter(Patches(args), None, args.workers)
    stack.train(args, (torch.from_numpy(numpy.asarray(batch["data"])) for batch in batches))


if __name__ == "__main__":
    main()
