"""MosaicML Streaming: shards of its own format, read by a StreamingDataset."""

import os

from streaming import MDSWriter, StreamingDataset
from torch.utils.data import DataLoader

import stack


class Stream(StreamingDataset):
    def __init__(self, args, **more):
        super().__init__(**more)
        self.args = args

    def __getitem__(self, index):
        number = super().__getitem__(index)["number"]
        stack.work(self.args)
        return stack.features(number)


def main():
    args = stack.arguments(__doc__)
    folder = os.path.join(args.folder, "mds")
    with MDSWriter(out=folder, columns={"number": "int"}, size_limit=1 << 14) as out:
        for number in range(args.steps * stack.BATCH):
            out.write({"number": number})
    data = Stream(args, local=folder, shuffle=False, batch_size=stack.BATCH)
    loader = DataLoader(data, batch_size=stack.BATCH, num_workers=args.workers)
    stack.train(args, loader)


if __name__ == "__main__":
    main()
