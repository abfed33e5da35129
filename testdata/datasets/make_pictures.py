#!/usr/bin/env python3
"""Writes pictures into a folder, and beside each the pixels that Pillow reads from it: what pipetune's decoders are held against.

usage: make_pictures.py FOLDER

pictures.json lists them: file, width, height, channels, bits of a sample, and whether Pillow refuses the file. FILE.raw holds the pixels, row by
row. Pillow's modes are delivered as pipetune delivers them: "1" as gray, "P" and "CMYK" as RGB, "P" with transparency as RGBA, 16-bit gray as
16 bits, little-endian. Runs with Debian's python3-pil and python3-numpy.
"""

import io
import json
import os
import sys
import zlib

import numpy
from PIL import Image

WIDTH, HEIGHT = 117, 83  # neither is a multiple of a block of 8 or 16, both are odd


def photo(width=WIDTH, height=HEIGHT, seed=1):
    """Noise with the 1/f spectrum of natural pictures (Field 1987), its channels correlated as a photo's are."""
    rng = numpy.random.default_rng(seed)
    fy, fx = numpy.fft.fftfreq(height)[:, None], numpy.fft.fftfreq(width)[None, :]
    amplitude = 1 / numpy.maximum(numpy.hypot(fy, fx), 1 / max(width, height))
    planes = []
    for _ in range(4):
        phase = numpy.exp(2j * numpy.pi * rng.random((height, width)))
        plane = numpy.fft.ifft2(amplitude * phase).real
        planes.append((plane - plane.min()) / (plane.max() - plane.min()))
    light = planes[3]
    rgb = [numpy.clip(0.8 * light + 0.4 * (p - 0.5) + 0.1, 0, 1) for p in planes[:3]]
    return Image.fromarray((numpy.stack(rgb, -1) * 255).round().astype(numpy.uint8))


def exif(orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags.tobytes()


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def png(width, height, depth, color, interlaced, lines):
    """What Pillow cannot write."""

    def chunk(kind, body):
        return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([depth, color, 0, 0, interlaced])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def adam7(image):
    pixels = numpy.asarray(image)
    lines = b""
    for x, y, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        for row in pixels[y::dy, x::dx]:
            lines += b"\0" + row.tobytes() if row.size else b""
    return png(image.width, image.height, 8, 2, 1, lines)


def sixteen_bits(image, color):
    """The samples of an image, made wide."""
    samples = numpy.asarray(image).astype(">u2") * 251 + 7
    return png(image.width, image.height, 16, color, 0, b"".join(b"\0" + row.tobytes() for row in samples))


def as_rgb(jpeg):
    """Names the components R, G and B and leaves the JFIF mark out, which makes libjpeg take them as such."""
    frame, scan = b"\x01\x11\x00\x02\x11\x01\x03\x11\x01", b"\x01\x00\x02\x11\x03\x11"
    assert frame in jpeg and scan in jpeg
    return jpeg[:2] + jpeg[20:].replace(frame, b"R\x11\x00G\x11\x01B\x11\x01").replace(scan, b"R\x00G\x11B\x11")


def multiplied(tiff):
    """Says of a TIFF's alpha that it is multiplied in: the tag ExtraSamples is 1 for it and 2 for the other kind."""
    entry = b"\x52\x01\x03\x00\x01\x00\x00\x00"
    assert tiff.count(entry + b"\x02\x00") == 1
    return tiff.replace(entry + b"\x02\x00", entry + b"\x01\x00")


def pictures():
    rgb = photo()
    gray = rgb.convert("L")
    rgba = rgb.copy()
    rgba.putalpha(photo(seed=2).convert("L"))
    palette = rgb.quantize(200)
    wide = Image.fromarray((numpy.asarray(gray).astype(numpy.uint16) * 257) ^ 0x1234)

    yield "photo_444.jpg", saved(rgb, "JPEG", quality=92, subsampling="4:4:4")
    yield "photo_422.jpg", saved(rgb, "JPEG", quality=92, subsampling="4:2:2")
    yield "photo_420.jpg", saved(rgb, "JPEG", quality=75, subsampling="4:2:0")
    yield "gray.jpg", saved(gray, "JPEG", quality=90)
    yield "progressive.jpg", saved(rgb, "JPEG", progressive=True)
    yield "progressive_gray.jpg", saved(gray, "JPEG", progressive=True)
    yield "cmyk.jpg", saved(rgb.convert("CMYK"), "JPEG", quality=90)
    yield "rotated_by_exif.jpg", saved(rgb, "JPEG", exif=exif(6))
    yield "rgb_components.jpg", as_rgb(saved(rgb, "JPEG", subsampling="4:4:4"))
    yield "thumbnail.jpg", saved(rgb, "JPEG", exif=exif(1) + saved(photo(16, 16), "JPEG"))
    yield "one_pixel.jpg", saved(rgb.crop((0, 0, 1, 1)), "JPEG")

    baseline, progressive = saved(rgb, "JPEG"), saved(rgb, "JPEG", progressive=True)
    for n in (1, 2, 3, 4, 5, 8, 16, 64, 1000):
        yield f"cut_{n:04}.jpg", baseline[:-n]
        yield f"cut_progressive_{n:04}.jpg", progressive[:-n]
    yield "cut_in_header.jpg", baseline[:100]
    yield "trailing_bytes.jpg", baseline + b"trailing bytes" * 50
    scan = baseline.index(b"\xff\xda") + 200
    flipped = baseline[:scan] + bytes(b if b in (0xFF, 0xAA) else b ^ 0x55 for b in baseline[scan : scan + 40]) + baseline[scan + 40 :]
    yield "flipped.jpg", flipped
    yield "flipped_and_cut.jpg", flipped[:-600]
    yield "marker_inside.jpg", baseline[:scan] + b"\xff\xd0" + baseline[scan:]
    yield "hole.jpg", baseline[:scan] + baseline[scan + 500 :]
    yield "end_inside.jpg", baseline[: scan + 300] + b"\xff\xd9"
    yield "marker_inside_and_cut.jpg", baseline[:scan] + b"\xff\xd0" + baseline[scan:-600]

    yield "warning_then_error.jpg", baseline[:-2] + b"junk\xff\xd8\xff\xd9"

    yield "rgb.png", saved(rgb, "PNG")
    yield "rgba.png", saved(rgba, "PNG")
    yield "gray.png", saved(gray, "PNG")
    yield "gray_alpha.png", saved(rgba.convert("LA"), "PNG")
    yield "gray_16.png", saved(wide, "PNG")
    yield "one_bit.png", saved(gray.convert("1"), "PNG")
    yield "palette.png", saved(palette, "PNG")
    yield "palette_4.png", saved(rgb.quantize(11), "PNG", bits=4)
    yield "palette_transparent.png", saved(palette, "PNG", transparency=bytes(range(200)))
    yield "transparent_color.png", saved(rgb, "PNG", transparency=rgb.getpixel((3, 3)))
    yield "transparent_gray.png", saved(gray, "PNG", transparency=gray.getpixel((3, 3)))
    yield "interlaced.png", adam7(rgb)
    yield "rgb_16.png", sixteen_bits(rgb, 2)
    yield "rgba_16.png", sixteen_bits(rgba, 6)
    yield "gray_alpha_16.png", sixteen_bits(rgba.convert("LA"), 4)
    yield "gray_4.png", png(WIDTH, HEIGHT, 4, 0, 0, b"".join(b"\0" + bytes(59) for _ in range(HEIGHT // 2)) + b"".join(b"\0" + bytes(range(y, y + 59)) for y in range(HEIGHT - HEIGHT // 2)))
    yield "cut.png", saved(rgb, "PNG")[:-3000]

    yield "lossy.webp", saved(rgb, "WEBP", quality=80)
    yield "lossy_best.webp", saved(rgb, "WEBP", quality=100)
    yield "lossy_worst.webp", saved(rgb, "WEBP", quality=5)
    yield "lossy_alpha.webp", saved(rgba, "WEBP", quality=80)
    yield "lossless.webp", saved(rgb, "WEBP", lossless=True)
    yield "lossless_alpha.webp", saved(rgba, "WEBP", lossless=True, exact=True)
    yield "one_pixel.webp", saved(rgb.crop((0, 0, 1, 1)), "WEBP")
    yield "two_columns.webp", saved(rgb.crop((0, 0, 2, 5)), "WEBP")
    yield "cut.webp", saved(rgb, "WEBP")[:-500]

    for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"):
        yield f"{compression}.tif", saved(rgb, "TIFF", compression=compression)
    yield "gray.tif", saved(gray, "TIFF")
    yield "gray_16.tif", saved(wide, "TIFF", compression="tiff_lzw")
    yield "rgba.tif", saved(rgba, "TIFF")
    yield "rgba_multiplied.tif", multiplied(saved(rgba, "TIFF"))
    yield "palette.tif", saved(palette, "TIFF")
    yield "one_bit.tif", saved(gray.convert("1"), "TIFF")

    yield "rgb.bmp", saved(rgb, "BMP")
    yield "rgba.bmp", saved(rgba, "BMP")
    yield "gray.bmp", saved(gray, "BMP")
    yield "palette.bmp", saved(palette, "BMP")
    yield "one_bit.bmp", saved(gray.convert("1"), "BMP")

    yield "palette.gif", saved(palette, "GIF")
    yield "gray.gif", saved(gray, "GIF")
    yield "two_frames.gif", saved(palette, "GIF", save_all=True, append_images=[photo(seed=3).quantize(200)])


def delivered(image):
    if image.mode == "1":
        image = image.convert("L")
    if image.mode == "CMYK":
        image = image.convert("RGB")
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode.startswith("I"):
        return 1, 16, numpy.asarray(image).astype("<u2").tobytes()
    return len(image.getbands()), 8, image.tobytes()


def main(folder):
    rows = []
    for name, content in pictures():
        path = os.path.join(folder, name)
        with open(path, "wb") as f:
            f.write(content)
        row = {"file": name}
        try:
            with Image.open(path) as image:
                channels, bits, pixels = delivered(image)
                row.update(width=image.width, height=image.height, channels=channels, bits=bits, mode=image.mode)
        except (OSError, SyntaxError) as e:
            row["refused"] = str(e).replace(path, name)
        else:
            with open(path + ".raw", "wb") as f:
                f.write(pixels)
        rows.append(row)
    with open(os.path.join(folder, "pictures.json"), "w") as f:
        json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
