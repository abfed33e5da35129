"""The loop that the jobs of this folder train in, beside what each of them plants."""

import gpu
import stopwatch


def run(args, loader):
    """Trains for --seconds or --epochs: waits for each batch, then has the GPU work on it for --step seconds."""
    watch = stopwatch.StopWatch(args)
    for _ in watch.epochs():
        for _ in watch.batches(loader):
            gpu.step(args.step)
