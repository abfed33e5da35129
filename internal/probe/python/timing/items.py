"""Which files and items there are, and how their bytes are read plainly."""

import base64
import os
import stat
import struct


class Source:
    """Which files and items, and how their bytes are read plainly."""

    def __init__(self, request):
        self.kind = request["Kind"]
        self.dataset = request.get("Dataset") or ""
        self.opens_each = bool(request.get("OpensEach"))
        self.members = bool(request.get("Members"))
        self.rows = bool(request.get("Rows"))
        self.shape = request.get("ItemShape")
        self.follow = bool(request.get("Follow"))
        self.block = request.get("BlockBytes") or 128 << 10
        self.files = [os.fsdecode(base64.b64decode(f["Path"])) for f in request["Files"]]
        self.items = request["Items"]
        self.limit = request["PixelLimit"]
        self.checked = set()
        self.array = None  # how an item becomes an array, once a library for it was found
        self.forked = lambda: None  # what a new process does first: it opens files of its own

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
    """Width times height by the header of a JPEG, PNG, BMP or GIF, 0 where it cannot be told: Pillow tells the rest,
    OpenCV has a limit of its own."""
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
