"""NVIDIA DALI without a GPU: its own processes call the source, its own threads put the batches together."""

import torch
from nvidia.dali import fn, pipeline_def

import stack


class Source:
    """Gives one item, in a process of DALI's."""

    def __init__(self, args):
        self.items = stack.Items(args)

    def __call__(self, sample):
        if sample.idx_in_epoch >= len(self.items):
            raise StopIteration
        return self.items[sample.idx_in_epoch].numpy()


def main():
    args = stack.arguments(__doc__)

    @pipeline_def(batch_size=stack.BATCH, num_threads=1, device_id=None, py_num_workers=args.workers)
    def pipeline():
        return fn.external_source(Source(args), batch=False, parallel=True)

    batches = pipeline()
    batches.build()
    stack.train(args, (torch.from_numpy(batches.run()[0].as_array().copy()) for _ in range(args.steps)))


if __name__ == "__main__":
    main()
