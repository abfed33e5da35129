"""Wraps torchdata's StatefulDataLoader, which replaces the methods of its base, DataLoader, and what its workers run.

Its iterators are of a class of torch's, and so are the fetchers of its workers: these are wrapped with those of torch.
"""

from . import trainer, worker


def patch(module):
    """Wraps what one of its modules holds. One that has not run yet, as it imports torch itself, comes again when it
    has."""
    own = vars(module)
    if own["__name__"].endswith(".worker"):
        if "_worker_loop" in own:
            worker.patch(module)
    elif "StatefulDataLoader" in own:
        trainer.patch_loader(own["StatefulDataLoader"])
