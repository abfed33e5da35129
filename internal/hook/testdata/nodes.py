"""torchdata's nodes: in the trainer, by threads and by processes, stopped half-way and resumed, with an error."""

import warnings

from torch.utils.data import SequentialSampler
from torchdata import nodes

warnings.simplefilter("ignore")


def square(number):
    if number > 90:
        raise ValueError("too large")
    return number * number


def pipeline(count, method):
    node = nodes.SamplerWrapper(SequentialSampler(range(count)))
    node = nodes.ParallelMapper(node, square, num_workers=2 if method else 0, method=method or "thread")
    return nodes.Loader(nodes.Batcher(node, 4))  # here


def main():
    for method in "", "thread", "process":
        loader = pipeline(24, method)
        print([list(loader) for _ in range(2)], sorted(vars(loader)))
        batches = iter(loader)
        print(next(batches), loader.state_dict(), batches.has_next())
        again = pipeline(24, method)
        again.load_state_dict(loader.state_dict())
        print(list(again))
        try:
            list(pipeline(99, method))
        except ValueError as error:
            print(type(error).__name__)
        del batches, again, loader


if __name__ == "__main__":
    main()
