"""Times Pillow and OpenCV: opening a picture, reading it and decoding it, and resizing what was decoded; counts the
values that are decoded."""

from .batch import array
from .look import class_fields, class_module, fields, text
from .timed import wrap


def patch(module):
    name = module.__name__
    if name == "PIL.Image":
        wrap(module, "open", pillow)
        wrap(module.Image, "convert", resized, around=True)
        wrap(module.Image, "resize", resized, around=True)
    elif name == "PIL.ImageFile":
        wrap(module.ImageFile, "load", load)
    else:
        wrap(module, "imread", decoded)
        wrap(module, "imdecode", decoded)
        wrap(module, "resize", resized)


BANDS = {"1": 1, "L": 1, "P": 1, "I": 1, "F": 1, "LA": 2, "PA": 2, "La": 2, "RGB": 3, "YCbCr": 3, "LAB": 3, "HSV": 3}
OPENED = 64  # pictures that were opened and not decoded yet, of which the last are remembered


def decoded(work, took, args, result, done):
    work.decode_time += took
    work.decodes += 1
    if array(type(result)):
        work.values += result.size


def resized(work, took, args, result, done):
    """Takes time in proportion to the values of the picture as it was decoded; what asks for them first decodes."""
    work.resize_time += took


def pillow(work, took, args, result, done):
    """Image.open reads the header only; load decodes, and some formats have one of their own."""
    work.decode_time += took
    work.decodes += 1
    if done:
        work.opened_pictures[id(result)] = None
        if len(work.opened_pictures) > OPENED:
            del work.opened_pictures[next(iter(work.opened_pictures))]
    kind = type(result)
    if "load" in class_fields(kind) and text(class_module(kind)).startswith("PIL."):
        wrap(kind, "load", load)


def load(work, took, args, result, done):
    """Whatever asks for pixels calls load; the first time decodes, at the size that draft may have made smaller."""
    work.decode_time += took
    if not done or not args or work.opened_pictures.pop(id(args[0]), work) is work:
        return
    own = fields(args[0])
    size, mode = own.get("_size", own.get("size")), own.get("_mode", own.get("mode"))
    if type(size) is tuple and len(size) == 2 and all([type(each) is int for each in size]):
        work.values += size[0] * size[1] * BANDS.get(text(mode), 4)
