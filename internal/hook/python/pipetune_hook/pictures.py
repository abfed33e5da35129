"""Times Pillow and OpenCV: opening a picture, reading it and decoding it, and what Pillow then does to all of its
pixels; counts the values that are decoded."""

from .batch import array
from .look import class_fields, class_module, fields, text
from .timed import wrap, wrap_unless_held


def patch(module):
    name = module.__name__
    if name == "PIL.Image":
        wrap_unless_held(module, "open", pillow)
        pictures = getattr(module, "Image", None)
        if pictures is not None:
            wrap(pictures, "convert", converted, around=True)
            wrap(pictures, "resize", resized, around=True)
    elif name == "PIL.ImageFile":
        wrap(module.ImageFile, "load", load)
    else:
        wrap_unless_held(module, "imread", decoded)
        wrap_unless_held(module, "imdecode", decoded)


BANDS = {"1": 1, "L": 1, "P": 1, "I": 1, "F": 1, "LA": 2, "PA": 2, "La": 2, "RGB": 3, "YCbCr": 3, "LAB": 3, "HSV": 3}
OPENED = 64  # pictures that were opened and not decoded yet, of which the last are remembered


def decoded(work, took, args, result, done):
    work.decode_time += took
    work.decodes += 1
    if array(type(result)):
        work.values += result.size


def converted(work, took, args, result, done):
    """Of a picture that was just decoded it is a part of that; what asks for pixels first decodes them."""
    if args and id(args[0]) == work.loaded:
        work.decode_time += took
        work.loaded = None


def resized(work, took, args, result, done):
    if as_decoded(work, args):
        work.resize_time += took


def as_decoded(work, args):
    """Whether a picture has at least half of the pixels of the one decoded last: what is done to it takes time in
    proportion to them."""
    pixels = area(args[0]) if args else None
    return pixels is not None and 2 * pixels[0] * pixels[1] >= work.decoded_pixels > 0


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
    own, size = fields(args[0]), area(args[0])
    if size is not None:
        work.decoded_pixels, work.loaded = size[0] * size[1], id(args[0])
        work.values += work.decoded_pixels * BANDS.get(text(own.get("_mode", own.get("mode"))), 4)


def area(picture):
    """Width and height of one of Pillow's pictures; None where they are not what Pillow gives."""
    own = fields(picture)
    size = own.get("_size", own.get("size"))
    return size if type(size) is tuple and len(size) == 2 and all([type(each) is int for each in size]) else None
