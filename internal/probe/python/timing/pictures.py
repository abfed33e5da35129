"""Pillow, OpenCV and torchvision on pictures."""

import io
import sys


def pillow_subjects(source, by_format, items, load):
    image, numpy = library("PIL.Image"), library("numpy")
    if image is None:
        return []
    array = numpy.array if numpy else lambda img: img.tobytes()
    image.MAX_IMAGE_PIXELS = source.limit

    def convert(opened):
        with opened as img:
            if img.size[0] * img.size[1] > source.limit:  # Pillow itself refuses twice its limit, and warns before
                raise Refused("more than %d pixels" % source.limit)
            return img.convert("RGB")

    def from_file(ready):
        with open(ready[0], "rb") as f:  # as torchvision's pil_loader does
            return array(convert(image.open(f)))

    def from_memory(ready):
        return convert(image.open(io.BytesIO(ready[1])))

    source.array = lambda item: array(from_memory(load(item)))
    labels = {"decoder": "pillow", "version": sys.modules["PIL"].__version__}
    return picture_subjects(source, labels, by_format, items, load, from_file, from_memory)


def opencv_subjects(source, by_format, items, load):
    cv2, numpy = library("cv2"), library("numpy")
    if cv2 is None or numpy is None:
        return []
    cv2.setNumThreads(1)

    def checked(img):
        if img is None:
            raise Refused("OpenCV returns no picture")
        return img

    def from_file(ready):
        return checked(cv2.imread(ready[0], cv2.IMREAD_COLOR))

    def from_memory(ready):
        return checked(cv2.imdecode(numpy.frombuffer(ready[1], numpy.uint8), cv2.IMREAD_COLOR))

    labels = {"decoder": "opencv", "version": cv2.__version__}
    return picture_subjects(source, labels, by_format, items, load, from_file, from_memory)


def torchvision_subjects(source, by_format, items, load):
    vision, torch = library("torchvision"), library("torch")
    if vision is None or torch is None or library("torchvision.io") is None:
        return []
    torch.set_num_threads(1)
    mode = vision.io.ImageReadMode.RGB

    def from_file(ready):
        return vision.io.decode_image(vision.io.read_file(ready[0]), mode)

    def from_memory(ready):
        return vision.io.decode_image(torch.frombuffer(bytearray(ready[1]), dtype=torch.uint8), mode)

    labels = {"decoder": "torchvision", "version": vision.__version__}
    return picture_subjects(source, labels, by_format, items, load, from_file, from_memory)


def picture_subjects(source, labels, by_format, items, load, from_file, from_memory):
    subjects = []
    if source.kind == "image":
        seen = set()

        def path_of(item):
            """Brings the file to the page cache once, and leaves nothing of it in memory: that would change how memory
            is given back."""
            if item["File"] not in seen:
                load(item)
                seen.add(item["File"])
            return source.files[item["File"]], None

        subjects.append(
            Subject("item_time_s", dict(labels, cache="warm", order="random"), items, from_file, path_of, alone=True)
        )
    for form, those in sorted(by_format.items()):
        subjects.append(Subject("decode_time_s", dict(labels, format=form), those, from_memory, load))
    return subjects


def pictures(source, items):
    """Sorts items by what their first bytes say, and returns how an item is brought to memory, which warms its file as
    well."""
    by_format = {}
    looked = []
    for item in items:
        try:
            with open(source.path(item), "rb") as f:
                f.seek(item.get("At", 0))
                form = picture_format(f.read(12))
        except Exception:
            continue  # the readers say what is wrong with it
        if form:
            by_format.setdefault(form, []).append(item)
            looked.append(item)

    def load(item):
        data = source.plain(item)
        if pixels(data, picture_format(data)) > source.limit:
            raise Refused("more than %d pixels" % source.limit)
        return source.files[item["File"]], data

    return by_format, looked, load
