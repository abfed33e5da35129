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
    args = stack.arguments(__doc__)
    quarter = args.steps * stack.BATCH // 4
    shards = [(n * quarter, (n + 1) * quarter) for n in range(4)]
    data = datasets.IterableDataset.from_generator(numbers, gen_kwargs={"ranges": shards, "cost": args.item})
    loader = DataLoader(data.with_format("torch"), batch_size=stack.BATCH, num_workers=args.workers)
    stack.train(args, (batch["x"] for batch in loader))


if __name__ == "__main__":
    main()
