"""Times the libraries of this interpreter on the files of a dataset.

The request is JSON on standard input. Answers are lines of JSON on what was standard output when the process began, each behind PREFIX;
what libraries print goes to standard error. Each round of each subject (one library doing one thing) is a line of its own, so that
nothing is lost when a library crashes or hangs. Only the listed files are read and no code of the dataset's is run.
"""

import base64
import importlib
import importlib.util
import io
import json
import math
import os
import random
import resource
import stat
import struct
import sys
import time

clock = time.perf_counter

ROUND_SECONDS = 0.02  # a round lasts about so long: 200 rounds in 4 s, and the clock's 0.1 us do not count
CHUNK_BYTES = 64 << 20  # of encoded items held in memory for one round
HELD_BYTES = 256 << 20  # of decoded items held as a batch
LEAST_ROUNDS, MOST_ROUNDS = 10, 200
PRECISION = 0.04  # of the interval; below the 5 % that is asked for, because the one made of the rounds afterwards is somewhat wider
MEMORY = 3 << 30  # address space beyond what the libraries themselves take: the largest picture that is decoded has half a gigabyte
OPEN_FILES = 64
LATE_SECONDS = 0.7  # what torch's part gets at least: importing it may have taken all that was left
BATCH = 32  # of a collate when the person names no batch size


class Refused(Exception):
    """An item that is not read although it could be."""


def answer(out, value):
    out.write("\n" + PREFIX + json.dumps(value) + "\n")
    out.flush()


def library(name):
    """The module, or None where it is not there or cannot be imported."""
    try:
        if importlib.util.find_spec(name) is None:
            return None
        return importlib.import_module(name)
    except Exception as e:
        NOTES.append("%s cannot be imported: %s" % (name, first_line(e)))
        return None


NOTES = []


def first_line(e):
    lines = str(e).strip().splitlines()
    if lines and isinstance(e, Refused):
        return lines[0]
    return "%s: %s" % (type(e).__name__, lines[0][:200]) if lines else type(e).__name__


# ---- files and items


class Source:
    """Which files and items, and how their bytes are read plainly."""

    def __init__(self, request):
        self.kind = request["Kind"]
        self.dataset = request.get("Dataset") or ""
        self.shape = request.get("ItemShape")
        self.follow = bool(request.get("Follow"))
        self.block = request.get("BlockBytes") or 128 << 10
        self.files = [os.fsdecode(base64.b64decode(f["Path"])) for f in request["Files"]]
        self.items = request["Items"]
        self.limit = request["PixelLimit"]
        self.checked = set()

    def path(self, item):
        """The file of an item. Only regular files are opened: a pipe or a device would block or do worse."""
        path = self.files[item["File"]]
        if path not in self.checked:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise Refused("not a regular file")
            finally:
                os.close(fd)
            self.checked.add(path)
        return path

    def plain(self, item):
        """The bytes of an item that is a file, a member or a block."""
        with open(self.path(item), "rb") as f:
            if self.kind == "tar":
                f.seek(item.get("At", 0))
                data = f.read(item.get("Bytes", 0))
                if len(data) < item.get("Bytes", 0):
                    raise Refused("shorter than when the dataset was looked through")
                return data
            if self.kind == "other":
                f.seek(item["Index"] * self.block)
                return f.read(self.block)
            return f.read()


def picture_format(data):
    """The format a picture's first bytes tell; None where it is no picture that is known here."""
    if data[:2] == b"\xff\xd8":
        return "jpeg"
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return "png"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    if data[:4] in (b"II*\0", b"MM\0*"):
        return "tiff"
    if data[:2] == b"BM":
        return "bmp"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "gif"
    return None


def pixels(data, form):
    """Width times height by the header of a JPEG, PNG, BMP or GIF, 0 where it cannot be told: Pillow tells the rest, OpenCV has a
    limit of its own."""
    try:
        if form == "png":
            w, h = struct.unpack(">II", data[16:24])
        elif form == "gif":
            w, h = struct.unpack("<HH", data[6:10])
        elif form == "bmp":
            w, h = struct.unpack("<ii", data[18:26])
        elif form == "jpeg":
            at = 2
            while True:
                while data[at + 1] == 0xFF:
                    at += 1
                marker = data[at + 1]
                if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
                    h, w = struct.unpack(">HH", data[at + 5 : at + 9])
                    break
                at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
        else:
            return 0
        return abs(w * h)
    except (struct.error, IndexError):
        return 0


# ---- subjects


class Subject:
    """One library doing one thing.

    prepare makes of an item what one is called with, off the clock; one does the work that is timed. weight is what an item counts for.
    alone says that it and the others would disturb each other, and that it waits until they are done. tells says that one returns the seconds that count.

    Items are held until a batch of them is there, as a worker of the DataLoader does before it collates them. That matters: memory which is
    new to the process costs a page fault per 4 KiB, and JPEG of 500 x 375 pixels takes 2.4 ms so, 1.3 ms where each array is dropped at once
    (Pillow 9.4, a virtual machine; a DataLoader with one worker needs 3.2 ms, its collate included).
    """

    def __init__(self, metric, labels, items, one, prepare=None, weight=1, alone=False, tells=False):
        self.metric, self.labels, self.one, self.prepare, self.weight = metric, labels, one, prepare, weight
        self.alone, self.tells = alone, tells
        self.hold, self.held = (BATCH if metric == "item_time_s" and not tells else 1), []
        self.items, self.at, self.chunk, self.warm = list(items), 0, 1, False
        self.rounds, self.failed, self.reason = [], 0, ""
        self.number = None

    def take(self):
        out = []
        held = 0
        while self.items and len(out) < self.chunk and held < CHUNK_BYTES:
            item = self.items[self.at % len(self.items)]
            try:
                ready = self.prepare(item) if self.prepare else item
            except Exception as e:
                self.drop(item, e)
                continue
            held += len(ready[1]) if isinstance(ready, tuple) and isinstance(ready[1], bytes) else 0
            self.at += 1
            out.append((item, ready))
        return out

    def drop(self, item, e):
        self.items.remove(item)
        self.failed += 1
        self.reason = self.reason or first_line(e)

    def round(self):
        """One timed round, as (units, seconds), or None when it does not count."""
        taken = self.take()
        if not taken:
            return None
        one, item, told = self.one, None, 0.0
        groups = [taken[i : i + self.hold] for i in range(0, len(taken), self.hold)]
        held, room = self.held, self.hold
        try:
            began = clock()
            for group in groups:
                if len(held) >= room:
                    held.clear()  # as a worker does once a batch is collated
                for item, ready in group:
                    if self.tells:
                        told += one(ready)
                    elif room > 1:
                        held.append(one(ready))  # and no other name for it, which would keep the heap from shrinking
                    else:
                        one(ready)
            seconds = clock() - began
        except Exception as e:
            self.drop(item, e)
            return None
        if held and self.hold > 1:
            self.hold = max(1, min(BATCH, HELD_BYTES // max(1, getattr(held[0], "nbytes", 1))))
        if not self.warm:
            self.warm = True  # the first of all rounds loads code and fills caches
            return None
        if seconds < ROUND_SECONDS / 2 and self.chunk < 4096:
            self.chunk *= 2  # too short to time well
            if not self.rounds:
                return None
        return len(taken) * self.weight, told if self.tells else seconds

    def known(self):
        """Whether the time per unit is known well enough."""
        n = len(self.rounds)
        if n < LEAST_ROUNDS:
            return False
        if n >= MOST_ROUNDS:
            return True
        units = sum(u for u, _ in self.rounds)
        rate = sum(s for _, s in self.rounds) / units
        spread = sum((s - rate * u) ** 2 for u, s in self.rounds) / (n - 1)
        return 2.3 * math.sqrt(spread * n) / units <= PRECISION * rate


def run(out, subjects, until):
    """Times all subjects, those that want to be alone last, one after the other, each for its share of the time."""
    groups = [[s for s in subjects if not s.alone]] + [[s] for s in subjects if s.alone]
    left = len(subjects)
    for group in groups:
        for s in group:
            s.number = run.count
            run.count += 1
            answer(out, {"subject": s.number, "metric": s.metric, "labels": s.labels})
        go_round(out, group, clock() + max(0, until - clock()) * len(group) / max(1, left))
        left -= len(group)
        for s in group:
            s.held.clear()


def go_round(out, subjects, until):
    """Goes round the subjects, one round each, so that what drifts meets all alike, until all are known or the time is up. Each gets one
    round that counts in any case."""
    left = list(subjects)
    while left:
        for s in list(left):
            if s.rounds and (clock() >= until or s.known()) or not s.items:
                left.remove(s)
                continue
            got = s.round()
            if got:
                s.rounds.append(got)
                answer(out, {"round": s.number, "units": got[0], "seconds": got[1]})
    for s in subjects:
        if s.failed:
            answer(out, {"failed": s.number, "count": s.failed, "of": s.failed + len(s.items), "reason": s.reason})


run.count = 0


# ---- pictures


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

    array_subjects.read = lambda item: array(from_memory(load(item)))
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
            """Brings the file to the page cache once, and leaves nothing of it in memory: that would change how memory is given back."""
            if item["File"] not in seen:
                load(item)
                seen.add(item["File"])
            return source.files[item["File"]], None

        subjects.append(Subject("item_time_s", dict(labels, cache="warm", order="random"), items, from_file, path_of, alone=True))
    for form, those in sorted(by_format.items()):
        subjects.append(Subject("decode_time_s", dict(labels, format=form), those, from_memory, load))
    return subjects


def pictures(source, items):
    """Sorts items by what their first bytes say, and returns how an item is brought to memory, which warms its file as well."""
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


# ---- arrays


def array_index(source, item):
    """What to index a dataset with."""
    if item.get("Corner") and source.shape:
        return tuple(slice(c, c + n) for c, n in zip(item["Corner"], source.shape))
    return item["Index"]


class Handles:
    """Open files, at most OPEN_FILES of them."""

    def __init__(self, opener, closer):
        self.opener, self.closer, self.open = opener, closer, {}

    def get(self, path):
        got = self.open.get(path)
        if got is None:
            while len(self.open) >= OPEN_FILES:
                self.closer(self.open.pop(next(iter(self.open))))
            got = self.open[path] = self.opener(path)
        return got

    def close(self):
        while self.open:
            self.closer(self.open.popitem()[1])


def inside(h5py, file, name, follow, depth=0):
    """Opens a dataset by its path, each link looked at before it is followed: an external link leads to a file that nobody listed."""
    if follow:
        return file[name]
    if depth > 16:
        raise Refused("more than 16 soft links in a row")
    parts = [p for p in name.split("/") if p not in ("", ".")]
    here = file["/"]
    for i, part in enumerate(parts):
        link = here.get(part, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            raise Refused("it lies behind an external link, which is not followed")
        if isinstance(link, h5py.SoftLink):
            start = "" if link.path.startswith("/") else here.name
            return inside(h5py, file, "/".join([start, link.path] + parts[i + 1 :]), follow, depth + 1)
        here = here[part]
    if here.is_virtual or here.external:
        raise Refused("its data lie in other files, which are not followed")
    return here


def h5py_subjects(source, items):
    h5py = library("h5py")
    if h5py is None:
        return []
    library("hdf5plugin")  # registers the filters that a job with this package has

    def opener(path):
        file = h5py.File(path, "r")
        try:
            return file, inside(h5py, file, source.dataset, source.follow)
        except BaseException:
            file.close()
            raise

    handles = Handles(opener, lambda got: got[0].close())

    def kept(item):
        return handles.get(source.path(item))[1][array_index(source, item)]

    def reopened(item):
        file, dset = opener(source.path(item))
        try:
            return dset[array_index(source, item)]
        finally:
            file.close()

    def closed_first(item):
        handles.close()  # a file that is open already is not opened again by HDF5 but shared
        return item

    labels = {"decoder": "h5py", "version": h5py.__version__, "cache": "warm", "order": "random"}
    array_subjects.read = kept
    return [
        Subject("item_time_s", dict(labels, handle="kept"), items, kept),
        Subject("item_time_s", dict(labels, handle="reopened"), items, reopened, closed_first, alone=True),
    ]


def numpy_subjects(source, items):
    numpy = library("numpy")
    if numpy is None:
        return []

    def opener(path):
        return numpy.load(path, mmap_mode="r", allow_pickle=False)

    handles = Handles(opener, lambda mapped: None)

    def kept(item):
        return numpy.array(handles.get(source.path(item))[array_index(source, item)])

    def reopened(item):
        return numpy.array(opener(source.path(item))[array_index(source, item)])

    labels = {"decoder": "numpy", "version": numpy.__version__, "cache": "warm", "order": "random"}
    array_subjects.read = kept
    return [
        Subject("item_time_s", dict(labels, handle="kept"), items, kept),
        Subject("item_time_s", dict(labels, handle="reopened"), items, reopened, alone=True),
    ]


def array_subjects(source, items):
    return {"hdf5": h5py_subjects, "npy": numpy_subjects}[source.kind](source, items)


array_subjects.read = None  # how an item becomes an array, once a library for it was found


def plain_subjects(source, items):
    """Python's own file reading, with nothing behind it."""
    version = "%d.%d.%d" % sys.version_info[:3]
    labels = {"decoder": "python", "version": version, "cache": "warm", "order": "random", "handle": "reopened"}
    return [Subject("item_time_s", labels, items, source.plain)]


# ---- what torch adds


def torch_subjects(source, items, batch):
    """What the DataLoader adds to each item once it is an array: making tensors and batches of them, and the way from a worker process to
    the main one."""
    torch, numpy = library("torch"), library("numpy")
    if torch is None or numpy is None:
        return []
    from torch.utils.data import DataLoader, Dataset, default_collate

    torch.set_num_threads(1)
    arrays = []
    held = looked = 0
    for item in items:
        if len(arrays) >= batch or held >= CHUNK_BYTES or looked >= 4 * batch:
            break
        looked += 1
        try:
            got = numpy.asarray(array_subjects.read(item))
            torch.as_tensor(got)
        except Exception:
            continue  # of a type that torch does not have: it is left to the job's own code
        if not arrays or got.shape == arrays[0].shape and got.dtype == arrays[0].dtype:
            arrays.append(got)
            held += got.nbytes
    if len(arrays) < min(2, len(items)):
        NOTES.append("torch's collate was left out: the items differ in shape, or are of a type that torch does not have")
        return []
    n = len(arrays)
    labels = {"version": torch.__version__, "batch_size": str(n)}

    class Memory(Dataset):
        def __getitem__(self, i):
            return arrays[i]

    def endless():
        while True:
            yield list(range(n))

    def timed(batch):
        """Collates as a worker process does, into shared memory, and says how long that took."""
        began = clock()
        return default_collate(batch), clock() - began

    def convert(_):
        for a in arrays:
            torch.as_tensor(a)

    def collate(_):
        return next(batches)[1]

    def loader(_):
        next(batches)

    one = [0]
    subjects = [Subject("item_time_s", dict(labels, decoder="torch as_tensor"), one, convert, weight=n)]
    try:
        batches = iter(DataLoader(Memory(), batch_sampler=endless(), num_workers=1, collate_fn=timed, timeout=10, multiprocessing_context="fork"))
        next(batches)
    except Exception as e:
        NOTES.append("torch's collate was left out: a DataLoader's worker failed: " + first_line(e))
        return subjects
    # They come last and alone: a worker that is not waited for makes batches in advance.
    return subjects + [
        Subject("item_time_s", dict(labels, decoder="torch collate"), one, collate, weight=n, alone=True, tells=True),
        Subject("item_time_s", dict(labels, decoder="torch dataloader", workers="1"), one, loader, weight=n, alone=True),
    ]


def has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False


def confine(extra):
    """Limits how much address space is taken beyond what is, so that a damaged file does not take the machine's memory; None lifts the
    limit for an import."""
    with open("/proc/self/statm") as f:
        mapped = int(f.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = hard if extra is None else mapped + extra
    if hard != resource.RLIM_INFINITY and (wanted == resource.RLIM_INFINITY or wanted > hard):
        wanted = hard
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    began = clock()
    request = json.load(sys.stdin)
    source = Source(request)
    seconds = request["Seconds"]
    items = source.items[:]
    random.Random(request["Seed"]).shuffle(items)

    # Importing torch takes seconds: what needs it comes last, and only where there is time for it.
    torch = seconds >= request["TorchFrom"] and has("torch")
    if not torch and has("torch"):
        NOTES.append("torch was left out: there is no time to import it")
    first = began + seconds * (0.6 if torch else 1)

    if source.kind in ("image", "tar"):
        by_format, looked, load = pictures(source, items)
        subjects = pillow_subjects(source, by_format, looked, load) + opencv_subjects(source, by_format, looked, load) if looked else []
        if source.kind == "tar":
            subjects += plain_subjects(source, items)
    elif source.kind == "other":
        subjects = plain_subjects(source, items)
    else:
        subjects = array_subjects(source, items)
    confine(MEMORY)
    run(out, subjects, first)
    if torch:
        late = []
        confine(None)
        if source.kind in ("image", "tar") and looked:
            late += torchvision_subjects(source, by_format, looked, load)
        if array_subjects.read:
            late += torch_subjects(source, items, request.get("BatchSize") or BATCH)
        confine(MEMORY)
        run(out, late, max(began + seconds, clock() + LATE_SECONDS))
    answer(out, {"done": True, "notes": NOTES})


main()
