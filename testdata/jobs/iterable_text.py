"""Text streamed from gzipped shards by an IterableDataset with one worker.

Planted: num_workers=1; inflating, parsing JSON and tokenizing in Python take longer than the step, on one core of many.
Batches are padded to the longest text, so their size varies.
Cure: more workers, a shard each.
"""

import gzip
import json
import os

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

import settings
import stopwatch
import training

SHARDS, TEXTS = 8, 4000


def make(folder):
    rng = np.random.default_rng(14)
    words = ["".join(chr(97 + letter) for letter in rng.integers(0, 26, rng.integers(2, 11))) for _ in range(3000)]
    for shard in range(SHARDS):
        with gzip.open(os.path.join(folder, "part-%05d.jsonl.gz" % shard), "wt", compresslevel=4) as file:
            for length in rng.integers(30, 200, TEXTS):
                file.write(json.dumps({"text": " ".join(words[word] for word in rng.integers(0, 3000, length))}) + "\n")


class Texts(IterableDataset):
    def __init__(self, folder):
        self.paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]

    def __iter__(self):
        info = get_worker_info()
        for path in self.paths[info.id::info.num_workers] if info else self.paths:
            with gzip.open(path, "rt") as file:
                for line in file:
                    yield self.tokens(json.loads(line)["text"])

    @staticmethod
    def tokens(text):
        """Byte pairs, the slow way."""
        found = []
        for word in text.split():
            pieces = list(word)
            while len(pieces) > 1:
                pieces = ["".join(pieces[at:at + 2]) for at in range(0, len(pieces), 2)]
                found += [hash(piece) % 32000 for piece in pieces]
        return torch.tensor(found)


def collate(texts):
    return torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=64, step=0.012)
    data = Texts(stopwatch.dataset(args, make))
    loader = DataLoader(data, **settings.chosen(
        args, batch_size=args.batch_size, num_workers=args.workers, prefetch_factor=args.prefetch, collate_fn=collate,
        persistent_workers=True))
    training.run(args, loader)


if __name__ == "__main__":
    main()
