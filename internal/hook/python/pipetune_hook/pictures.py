"""Times Pillow and OpenCV: opening a picture, reading it and decoding it."""

from .look import class_fields, class_module, text
from .timed import wrap


def patch(module):
    name = module.__name__
    if name == "PIL.Image":
        wrap(module, "open", pillow)
    elif name == "PIL.ImageFile":
        wrap(module.ImageFile, "load", load)
    else:
        wrap(module, "imread", decoded)
        wrap(module, "imdecode", decoded)


def decoded(work, took, args, result, done):
    work.decode_time += took
    work.decodes += 1


def pillow(work, took, args, result, done):
    """Image.open reads the header only; load decodes, and some formats have one of their own."""
    work.decode_time += took
    work.decodes += 1
    kind = type(result)
    if "load" in class_fields(kind) and text(class_module(kind)).startswith("PIL."):
        wrap(kind, "load", load)


def load(work, took, args, result, done):
    work.decode_time += took
