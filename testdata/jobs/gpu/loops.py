"""The loops of scripts/gpu-proof: name, what may be said of it, arguments of the job, and of a neighbour on the GPU.

The most telling come first, and those that no real GPU has seen yet: where the time runs out, the last ones are left
out and named.
"""

GPU, INPUT, HOST, TRANSFER = ("gpu-bound",), ("input-bound",), ("host-bound",), ("transfer-bound",)
FREE_NEIGHBOUR = "--free --loader-ms=10 --device-ms=40 --sync=block"

REAL = (
    ("keeps-up", GPU, "--loader-ms=20 --device-ms=50", ""),
    ("input", INPUT, "--loader-ms=90 --device-ms=25", ""),
    ("async-input", INPUT, "--loader-ms=80 --device-ms=25 --sync-every=20", ""),
    ("graph", GPU, "--graph --loader-ms=20 --device-ms=45 --pin --sync-every=10", ""),
    ("copy-pinned", TRANSFER, "--loader-ms=20 --device-ms=20 --copy-mb=1600 --pin", ""),
    ("amp-transformer", GPU, "--model=transformer --batch-size=64 --amp --loader-ms=20 --device-ms=45 --pin", ""),
    ("prefetcher-input", INPUT, "--prefetcher=2 --loader-ms=80 --device-ms=25", ""),
    ("prefetcher-keeps-up", GPU, "--prefetcher=2 --loader-ms=20 --device-ms=50 --sync=block", ""),
    ("full-queue", GPU, "--loader-ms=20 --device-ms=50 --sync-every=0", ""),
    ("block-pinned-input", INPUT, "--loader-ms=80 --device-ms=25 --sync=block --pin", ""),
    ("copy-pageable", TRANSFER, "--loader-ms=20 --device-ms=20 --copy-mb=800", ""),
    ("small-kernels", HOST, "--model=small --loader-ms=20 --device-ms=0 --after-ms=20 --sync-every=10", ""),
    ("neighbour-input", INPUT, "--loader-ms=110 --device-ms=15 --sync=block", FREE_NEIGHBOUR),
    ("no-workers", INPUT, "--workers=0 --load=cpu --loader-ms=50 --device-ms=20", ""),
    ("async-keeps-up", GPU, "--loader-ms=45 --device-ms=50 --sync-every=20", ""),
    ("compile-item", GPU, "--compile --loader-ms=20 --device-ms=45 --sync=item", ""),
    ("neighbour-shares", GPU, "--loader-ms=20 --device-ms=30 --sync=block", FREE_NEIGHBOUR),
    ("small-transformer", HOST, "--model=transformer --width=512 --amp --loader-ms=20 --device-ms=45 --pin", ""),
)

STAND_IN = (
    ("keeps-up", GPU, "--loader-ms=30 --device-ms=80 --launch-ms=5 --sync=block", ""),
    ("input", INPUT, "--loader-ms=90 --device-ms=30 --launch-ms=10 --sync=block", ""),
)
