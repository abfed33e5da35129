#!/usr/bin/env python3
"""Writes tar files into a folder, and in tars.json where Python's tarfile finds their members.

usage: make_tars.py FOLDER
"""

import io
import json
import os
import sys
import tarfile

os.chdir(sys.argv[1])


def add(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def shard(archive):
    """As WebDataset writes it: the members of a sample follow each other."""
    for i in range(20):
        key = f"train/{i:06}"
        add(archive, key + ".cls", b"%d" % (i % 3))
        add(archive, key + ".jpg", b"\xff\xd8\xff" + bytes([i]) * (1000 + 100 * i))
        add(archive, key + ".seg.png", bytes([i]) * i)


def awkward(archive):
    """Long names, names of other letters, no content, and what is no regular file."""
    folder = tarfile.TarInfo("folder")
    folder.type = tarfile.DIRTYPE
    archive.addfile(folder)
    add(archive, "folder/" + "long" * 60 + ".bin", b"a long name")
    add(archive, "folder/größe.bin", b"letters")
    add(archive, "empty", b"")
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd" * 30
    archive.addfile(link)
    add(archive, "block", b"x" * 512)
    add(archive, "block.more", b"y" * 513)


found = {}
for form, number in {"ustar": tarfile.USTAR_FORMAT, "pax": tarfile.PAX_FORMAT, "gnu": tarfile.GNU_FORMAT}.items():
    for fill in (shard, awkward):
        if (form, fill) == ("ustar", awkward):  # names of such length do not fit
            continue
        name = f"{fill.__name__}_{form}.tar"
        with tarfile.open(name, "w", format=number) as archive:
            fill(archive)
        with tarfile.open(name) as archive:
            found[name] = [{"Name": m.name, "At": m.offset_data, "Bytes": m.size} for m in archive if m.isreg()]

# A member with holes, made by GNU tar.
with open("holes", "wb") as f:
    f.seek(1 << 20)
    f.write(b"end")
with open("solid", "wb") as f:
    f.write(b"solid")
for form in ("gnu", "pax"):
    name = f"sparse_{form}.tar"
    if os.system(f"tar --sparse --format={form} -cf {name} holes solid"):
        sys.exit("tar failed")
    with tarfile.open(name) as archive:
        found[name] = [{"Name": m.name, "At": m.offset_data, "Bytes": m.size} for m in archive if m.name == "solid"]

with open("tars.json", "w") as f:
    json.dump(found, f)
