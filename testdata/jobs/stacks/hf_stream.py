"""Hugging Face's datasets, streaming: an IterableDataset of four shards, mapped as it is read."""

import datasets
from torch.utils.data import DataLoader

import stack


def numbers(ranges, cost):
    for first, last in ranges:
        for number in range(first, last):
            stack.burn(cost)
            yield {"x": stack.features(number)}


def main():
    args = stack.arguments(__doc__, few="one shard, and three workers more")
    pieces, workers = (1, args.workers + 3) if args.few else (4, args.workers)
    size = args.steps * stack.BATCH // pieces
    shards = [(n * size, (n + 1) * size) for n in range(pieces)]
    data = datasets.IterableDataset.from_generator(numbers, gen_kwargs={"ranges": shards, "cost": args.item})
    loader = DataLoader(data.with_format("torch"), batch_size=stack.BATCH, num_workers=workers, persistent_workers=args.few)
    stack.train(args, (batch["x"] for batch in loader))


if __name__ == "__main__":
    main()
