#!/usr/bin/env python3
"""Says what h5py and Pillow make of files: what the trials D2 and D8-corpus hold pipetune's reading against.

Reads questions from stdin, one JSON object a line, and answers each with one line: {"Item": {...}} with the SHA-256 of the bytes of the item, or
{"Why": "..."}. Notes is what is peculiar about a picture. Each file is read in a process of its own, since some end it. The pixels are those that make_pictures.py calls delivered. Runs with
Debian's python3-h5py, python3-pil and python3-numpy.
"""

import hashlib
import json
import os
import resource
import signal
import sys

import h5py
import numpy
from PIL import Image

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "datasets"))
from make_pictures import delivered

SECONDS = 30
MEMORY = 4 << 30
MOST = 1 << 28  # bytes of an item that is looked for where pipetune has read none


def told(data, **more):
    return {"Item": dict(SHA256=hashlib.sha256(data).hexdigest(), Bytes=len(data), **more)}


def as_stored(dataset, index):
    """The bytes of an item in the type that the file has, as dataset[index].tobytes() gives wherever NumPy has that type."""
    space = dataset.id.get_space()
    shape = dataset.shape
    space.select_hyperslab((index,) + (0,) * (len(shape) - 1), (1,) + shape[1:])
    count = int(numpy.prod(shape[1:], dtype=object))
    data = numpy.zeros(count * dataset.id.get_type().get_size(), "u1")
    dataset.id.read(h5py.h5s.create_simple((1,) + shape[1:]), space, data, dataset.id.get_type())
    return data.tobytes()


def datasets(group, seen):
    """All datasets below a group that h5py opens, those behind a broken one too; links into other files are not followed."""
    for name in sorted(group.keys()):
        try:
            if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
                continue
            thing = group[name]
            address = h5py.h5o.get_info(thing.id).addr
        except Exception:  # h5py cannot open it
            continue
        if address in seen:
            continue
        seen.add(address)
        if isinstance(thing, h5py.Group):
            yield from datasets(thing, seen)
        elif isinstance(thing, h5py.Dataset):
            yield thing


def readable(file):
    """The first item of a dataset that samples could be in and that h5py reads, None where there is no such dataset."""
    for d in datasets(file, set()):
        try:
            if d.shape and 0 not in d.shape and not (d.dtype.hasobject or d.is_virtual or d.external):
                if int(numpy.prod(d.shape[1:], dtype=object)) * d.dtype.itemsize <= MOST:
                    return numpy.asarray(d[0]).tobytes()
        except Exception:  # h5py cannot read it
            pass
    return None


def of_hdf5(question):
    with h5py.File(question["Path"], "r") as file:
        if question["Read"]:
            return told(as_stored(file[question["Dataset"]], question["Index"]))
        found = readable(file)
        return told(found) if found is not None else {"Why": "no dataset with items of plain elements"}


def peculiar(image):
    """What about a picture is known to make pipetune deliver other pixels than Pillow."""
    notes = []
    tags = getattr(image, "tag_v2", {})
    if tags.get(274, 1) != 1:
        notes.append("turned as its orientation tag says")
    if tags.get(266, 1) != 1:
        notes.append("its bits are in reverse order")
    if 322 in tags and tags.get(258, (1,))[0] == 16 and (image.width % tags[322] or image.height % tags[323]):
        notes.append("tiles of 16 bits reach over its edge")
    if image.format == "GIF" and image.mode == "L" and "transparency" in image.info:
        notes.append("gray with a transparent color")
    if image.mode == "P":
        image.load()
        if image.getextrema()[1] >= len(image.palette.palette) // len(image.palette.mode):
            notes.append("an index that its palette lacks")
    return notes


def of_picture(question):
    with Image.open(question["Path"]) as image:
        notes = peculiar(image)
        kind = image.format
        channels, bits, pixels = delivered(image)
        if channels == 4:
            rgba = numpy.frombuffer(pixels, "u1").reshape(-1, 4).copy()
            if kind == "GIF":  # what is wholly transparent in a GIF is black
                rgba[rgba[:, 3] == 0] = 0
                pixels = rgba.tobytes()
            elif (rgba[:, 3] == 255).all():
                rgb = hashlib.sha256(rgba[:, :3].tobytes()).hexdigest()
                notes.append("opaque, without its alpha " + rgb)
        return told(pixels, Width=image.width, Height=image.height, Channels=channels, Bits=bits) | {"Notes": ", ".join(notes)}


def answer(question):
    try:
        return {"hdf5": of_hdf5, "pictures": of_picture}[question["Part"]](question)
    except Exception as e:
        return {"Why": "%s: %s" % (type(e).__name__, str(e)[:300])}


def apart(question):
    """The answer of a process that is only for this question."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            signal.alarm(SECONDS)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with os.fdopen(write, "w") as out:
                json.dump(answer(question), out)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as text:
        got = text.read()
    _, status = os.waitpid(child, 0)
    if status:
        how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "exit %d" % os.WEXITSTATUS(status)
        return {"Why": "it ends its process: " + how}
    return json.loads(got)


def main():
    for line in sys.stdin:
        print(json.dumps(apart(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
