//go:build reliability

package reliability

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

var bombTrials = []trial{
	{id: "D6", fault: "HDF5 files that grow when they are read", made: "a 1 GiB gzip chunk in 1 MB, a chunk of 4 GiB " +
		"less a byte, a chunk that says 1 MiB and inflates to 1 GiB, 1 PB of nothing, an item of 300 MB of varying " +
		"length, 100,000 groups, names of 60 kB, 32 filters",
		target: "refused by the declared size first; an answer within 10 s; a child holds at most 256 MiB",
		run:    func(s *stand) { bombs(s, bombScript) }},
	{id: "D6-attributes", fault: "a dataset with a million attributes",
		made: "h5py's low-level interface, in the dense form of format 1.8", long: true,
		target: "as D6", run: func(s *stand) { bombs(s, attributeScript) }},
}

const bombScript = `
import h5py, numpy, os, sys, zlib
os.chdir(sys.argv[1])
M = 1 << 20

def zeros(n):
    c = zlib.compressobj(1)
    return b"".join([c.compress(bytes(M)) for _ in range(n // M)] + [c.flush()])

gib = zeros(1 << 30)

def chunk(name, shape, size, raw, **how):
    with h5py.File(name + ".h5", "w") as f:
        d = f.create_dataset("x", shape, "u1", chunks=size, **how)
        if raw:
            d.id.write_direct_chunk((0,) * len(shape), raw, 0)

chunk("gzip-1-GiB", (1024, M), (1024, M), gib, compression="gzip")
chunk("chunk-4-GiB", (2, (1 << 32) - 1), (1, (1 << 32) - 1), None)
chunk("lying-chunk", (16, M), (1, M), gib, compression="gzip")
chunk("petabyte", (1 << 30, M), (1, M), None)

with h5py.File("vlen-300-MB.h5", "w") as f:
    d = f.create_dataset("x", (2,), h5py.vlen_dtype("u1"))
    d[0] = numpy.zeros(300_000_000, "u1")

with h5py.File("groups-100000.h5", "w", libver="latest") as f:
    for i in range(100_000):
        h5py.h5g.create(f.id, b"%d" % i)
    f["x"] = numpy.zeros((8, 8))

with h5py.File("names-60-kB.h5", "w") as f:
    for i in range(20):
        f["%d" % i + "n" * 60_000] = numpy.zeros((8, 8))
    f["x"] = numpy.zeros((8, 8))

with h5py.File("filters-32.h5", "w") as f:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((1, 4096))
    for i in range(16):
        plist.set_shuffle()
        plist.set_deflate(1)
    h5py.h5d.create(f.id, b"x", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((8, 4096)), plist)
    f["x"][:] = numpy.arange(8 * 4096).reshape(8, 4096)
`

const attributeScript = `
import h5py, numpy, os, sys
os.chdir(sys.argv[1])
with h5py.File("attributes-1000000.h5", "w", libver="latest") as f:
    d = f.create_dataset("x", data=numpy.zeros((8, 8)))
    space = h5py.h5s.create(h5py.h5s.SCALAR)
    for i in range(1_000_000):
        h5py.h5a.create(d.id, b"%d" % i, h5py.h5t.NATIVE_INT8, space)
`

func bombs(s *stand, script string) {
	folder := s.folder("bombs")
	must.Python(s, "-c", script, folder)
	paths, err := filepath.Glob(filepath.Join(folder, "*.h5"))
	if err != nil || len(paths) == 0 {
		s.Fatalf("no files: %v", err)
	}
	may := bounds{took: verdictLimit, bytes: 256 << 20}
	var words []string
	for _, path := range paths {
		v := s.examine(path)
		name := strings.TrimSuffix(filepath.Base(path), ".h5")
		words = append(words, fmt.Sprintf("%s %s, %d MiB, %.1f s", name, outcomeWords[v.outcome], v.bytes>>20,
			v.took.Seconds()))
		may.hold(name, v)
		if v.outcome == odd {
			s.Errorf("%s: %v", name, v.why)
		}
		if name == "gzip-1-GiB" || name == "chunk-4-GiB" {
			if v.outcome == whole || v.why == nil || !strings.Contains(v.why.Error(), "too large") {
				s.Errorf("%s is not refused by its declared size: %s, %v", name, outcomeWords[v.outcome], v.why)
			}
		}
	}
	s.measured("%s", strings.Join(words, "; "))
	may.tell(s)
}

var pictureTrials = []trial{
	{id: "D8", fault: "hostile pictures", made: "headers of 60,000 x 60,000 pixels in six formats, 65,535 x 1, tiles " +
		"of 2 Gpixel, a JPEG of 1,000 scans, an APNG of 10,000 frames, wrong extensions, no bytes, a folder, a FIFO " +
		"and a link to /dev/zero named .jpg, a hole of 4 GB, and the largest that is decoded (178,944,129 pixels) as " +
		"gray PNG and RGB JPEG",
		target: "more than 178,956,970 pixels are refused by the header; at most 2 s and 512 MiB a picture",
		run:    hostilePictures},
}

const pictureScript = `
import os, struct, sys, zlib
from PIL import Image
os.chdir(sys.argv[1])

def path(name):
    folder = name.replace(".", "-")
    os.mkdir(folder)
    return os.path.join(folder, name)

def write(name, data):
    with open(path(name), "wb") as f:
        f.write(data)

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def png(width, height, depth, color, *chunks):
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)) + b"".join(chunks) + chunk(b"IEND", b"")

def tiff(*tags):
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags) + bytes(4096)

def saved(kind, size, mode="RGB", **how):
    Image.effect_noise(size, 60).convert(mode).save("scratch", kind, **how)
    with open("scratch", "rb") as f:
        return f.read()

small = saved("JPEG", (64, 64))
start = small.index(b"\xff\xc0")
def resized(width, height):
    return small[:start + 5] + struct.pack(">HH", height, width) + small[start + 9:]

side = 60000
write("bomb.png", png(side, side, 16, 2, chunk(b"IDAT", zlib.compress(bytes(400)))))
write("bomb.jpg", resized(side, side))
write("bomb.gif", b"GIF89a" + struct.pack("<HHBBB", side, side, 0x80, 0, 0) + bytes(6) + b"," + struct.pack("<HHHHB", 0, 0, side, side, 0) + b"\x02\x01\x4c\x00;")
write("bomb.bmp", b"BM" + struct.pack("<IIIIiiHHIIiiII", 58, 0, 54, 40, side, side, 1, 24, 0, 0, 0, 0, 0, 0) + bytes(64))
write("bomb.webp", b"RIFF" + struct.pack("<I", 40) + b"WEBPVP8 " + struct.pack("<I", 28) + b"\x50\x00\x00\x9d\x01\x2a" + struct.pack("<HH", 16383, 16383) + bytes(18))
write("bomb.tiff", tiff((256, side), (257, side), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, side), (279, 100)))
write("tiles.tiff", tiff((256, 64), (257, 64), (258, 8), (259, 1), (262, 1), (277, 1), (322, 1 << 31), (323, 1 << 31), (324, 8), (325, 100)))
write("flat.png", saved("PNG", (65535, 1)))
write("cut-169-Mpixel.jpg", resized(13000, 13000))

progressive = saved("JPEG", (256, 256), progressive=True)
last = progressive.rindex(b"\xff\xda")
write("scans-1000.jpg", progressive[:-2] + progressive[last:-2] * 1000 + b"\xff\xd9")

frame = zlib.compress(bytes(65 * 64))
animation = [chunk(b"acTL", struct.pack(">II", 10000, 0)), chunk(b"IDAT", frame)]
for i in range(10000):
    animation.append(chunk(b"fcTL", struct.pack(">IIIIIHHBB", 2 * i, 64, 64, 0, 0, 1, 10, 0, 0)))
    animation.append(chunk(b"fdAT", struct.pack(">I", 2 * i + 1) + frame))
write("frames-10000.png", png(64, 64, 8, 0, *animation))

write("png-inside.jpg", saved("PNG", (64, 64)))
write("text.jpg", b"no picture\n" * 100)
write("empty.jpg", b"")
os.makedirs(path("folder.jpg"))
os.mkfifo(path("fifo.jpg"))
os.symlink("/dev/zero", path("zero.jpg"))
hole = path("hole-4-GB.jpg")
with open(hole, "wb") as f:
    f.write(small)
os.truncate(hole, 4_000_000_000)

Image.new("L", (13377, 13377)).save(path("largest.png"), compress_level=1)
Image.new("RGB", (13377, 13377)).save(path("largest.jpg"), quality=50)
`

func hostilePictures(s *stand) {
	folder := s.folder("pictures")
	must.Python(s, "-c", pictureScript, folder)
	must.Do(s, os.Remove(filepath.Join(folder, "scratch")))
	entries := must.Get(os.ReadDir(folder))(s)
	// What Pillow opens as well: libjpeg fills up a picture whose data ends properly and too soon. The text is no
	// picture and read as bytes.
	decodable := strings.Fields("flat-png frames-10000-png png-inside-jpg cut-169-Mpixel-jpg text-jpg largest-png " +
		"largest-jpg")
	may := bounds{took: pictureLimit, bytes: pictureMemory}
	var decoded []string
	slowest, most := time.Duration(0), int64(0)
	for _, e := range entries {
		v := s.examine(filepath.Join(folder, e.Name()))
		switch {
		case v.outcome == whole && slices.Contains(decodable, e.Name()):
			decoded = append(decoded, fmt.Sprintf("%s in %.1f s and %d MiB", e.Name(), v.took.Seconds(), v.bytes>>20))
		case v.outcome == whole || v.outcome > refused:
			s.Errorf("%s: %s: %v", e.Name(), outcomeWords[v.outcome], v.why)
		case slices.Contains(decodable, e.Name()):
			s.Errorf("%s is refused: %v", e.Name(), v.why)
		}
		if !strings.HasPrefix(e.Name(), "largest") && !strings.HasPrefix(e.Name(), "cut") {
			slowest, most = max(slowest, v.took), max(most, v.bytes)
		}
		may.hold(e.Name(), v)
	}
	s.measured("%d files, two children started for each: decoded are %s; the others are refused, all within %.1f s "+
		"and %d MiB", len(entries), strings.Join(decoded, ", "), slowest.Seconds(), most>>20)
	may.tell(s)
}
