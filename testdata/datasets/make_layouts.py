"""Makes a dataset with a planted layout: make_layouts.py LAYOUT FOLDER prints the path to measure.

Data is made by the usual libraries (h5py, Pillow, NumPy), from a fixed seed.
"""

import io
import os
import sys

import h5py
import numpy as np
from PIL import Image


def noise(shape, levels=64, seed=1):
    """Values that compress some, as sensor data does."""
    return np.random.default_rng(seed).integers(0, levels, shape, dtype=np.uint8)


def photograph(seed, width=500, height=375):
    """A picture with the spectrum of a photograph: smooth shapes and some grain."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 255, (height // 25, width // 25, 3), dtype=np.uint8))
    big = np.asarray(small.resize((width, height), Image.BICUBIC), dtype=np.int16)
    return Image.fromarray(np.clip(big + rng.normal(0, 6, big.shape), 0, 255).astype(np.uint8))


def hdf5(folder, data, **layout):
    path = os.path.join(folder, "train.h5")
    with h5py.File(path, "w") as f:
        f.create_dataset("images", data=data, **layout)
        f.create_dataset("labels", data=np.arange(len(data)) % 10)
    return path


def gzip_chunk_of_64(folder):
    """Planted: 2 MiB gzip chunks of 64 items, read one by one."""
    return hdf5(folder, noise((4096, 128, 256)), chunks=(64, 128, 256), compression="gzip", compression_opts=4)


def gzip_chunk_of_512(folder):
    """Planted: 16 MiB gzip chunks of 512 items, read one by one: larger than any version's default chunk cache."""
    return hdf5(folder, noise((4096, 128, 256)), chunks=(512, 128, 256), compression="gzip", compression_opts=4)


def chunk_across(folder):
    """Planted: a chunk is a column of every item, so that one item touches all chunks of the file."""
    return hdf5(folder, noise((2048, 64, 64)), chunks=(2048, 64, 1))


def healthy_hdf5(folder):
    """Nothing planted: contiguous, items of 48 KiB."""
    return hdf5(folder, noise((4096, 128, 384)))


def chunk_item_gzip(folder):
    """One gzip chunk per item: what an item costs is its own decompression."""
    return hdf5(folder, noise((2048, 224, 224)), chunks=(1, 224, 224), compression="gzip", compression_opts=4)


def small_pngs(folder, count=10_000):
    """Planted: 10,000 small PNG files in class folders."""
    encoded = []
    for seed in range(50):
        out = io.BytesIO()
        photograph(seed, 96, 96).save(out, "png")
        encoded.append(out.getvalue())
    for i in range(count):
        place = os.path.join(folder, "train", f"class_{i % 20:02d}")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, f"{i:06d}.png"), "wb") as f:
            f.write(encoded[i % 50])
    return os.path.join(folder, "train")


def one_folder(folder, count=50_000):
    """Planted: 50,000 files in one folder."""
    place = os.path.join(folder, "all")
    os.makedirs(place)
    out = io.BytesIO()
    photograph(1, 64, 64).save(out, "jpeg", quality=90)
    for i in range(count):
        with open(os.path.join(place, f"{i:08d}.jpg"), "wb") as f:
            f.write(out.getvalue())
    return place


def file_per_item(folder, count=2000):
    """Planted: an HDF5 file for each item."""
    place = os.path.join(folder, "items")
    os.makedirs(place)
    for i in range(count):
        with h5py.File(os.path.join(place, f"{i:05d}.h5"), "w") as f:
            f.create_dataset("image", data=noise((64, 64), seed=i))
    return place


def photographs(folder, count=400):
    """Nothing planted: JPEG photographs of the usual size."""
    place = os.path.join(folder, "photos")
    os.makedirs(place)
    for i in range(count):
        photograph(i).save(os.path.join(place, f"{i:05d}.jpg"), quality=92)
    return place


def raw(folder, count=256 << 20):
    """Raw bytes, for reading at random."""
    path = os.path.join(folder, "samples.bin")
    rng = np.random.default_rng(3)
    with open(path, "wb") as f:
        for _ in range(count >> 20):
            f.write(rng.bytes(1 << 20))
    return path


def main():
    layout, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    print(globals()[layout](folder))


if __name__ == "__main__":
    main()
