"""WebDataset: tar files, with the batches made by the pipeline itself."""

import io
import os
import tarfile

import webdataset

import stack

SHARDS = 4


def make(args):
    """Writes the shards: one small file an item."""
    quarter = args.steps * stack.BATCH // SHARDS
    for shard in range(SHARDS):
        with tarfile.open(os.path.join(args.folder, "shard-%d.tar" % shard), "w") as tar:
            for number in range(shard * quarter, (shard + 1) * quarter):
                text = str(number).encode()
                info = tarfile.TarInfo("%06d.txt" % number)
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text))
    return os.path.join(args.folder, "shard-{0..%d}.tar" % (SHARDS - 1))


def main():
    args = stack.arguments(__doc__)

    def item(sample):
        stack.burn(args.item)
        return (stack.features(int(sample["txt"])),)

    data = webdataset.WebDataset(make(args), shardshuffle=False).map(item).batched(stack.BATCH)
    loader = webdataset.WebLoader(data, batch_size=None, num_workers=args.workers)
    stack.train(args, (batch[0] for batch in loader))


if __name__ == "__main__":
    main()
