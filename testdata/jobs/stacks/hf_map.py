"""Hugging Face's datasets, map-style: a table in memory, with a transform of each batch that is asked for."""

import datasets
from torch.utils.data import DataLoader

import stack


def main():
    args = stack.arguments(__doc__)

    def transform(rows):
        for _ in rows["number"]:
            stack.burn(args.item)
        return {"x": [stack.features(number) for number in rows["number"]]}

    data = datasets.Dataset.from_dict({"number": range(args.steps * stack.BATCH)}).with_transform(transform)
    loader = DataLoader(data, batch_size=stack.BATCH, shuffle=True, num_workers=args.workers)
    stack.train(args, (batch["x"] for batch in loader))


if __name__ == "__main__":
    main()
