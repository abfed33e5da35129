package dataset

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/jpeg"
	"github.com/pipetune/pipetune/internal/must"
)

// pillowPicture is what Pillow made of a file: a row of pictures.json.
type pillowPicture struct {
	File                          string
	Width, Height, Channels, Bits int
	Mode, Refused                 string
}

// pillow has Pillow write its pictures into a folder.
func pillow(tb testing.TB) (dir string, pictures []pillowPicture) {
	tb.Helper()
	dir = tb.TempDir()
	python(tb, "make_pictures.py", dir)
	must.Do(tb, json.Unmarshal(load(tb, filepath.Join(dir, "pictures.json")), &pictures))
	return dir, pictures
}

// python runs a script of the fixtures.
func python(tb testing.TB, script string, args ...string) {
	tb.Helper()
	must.Python(tb, append([]string{filepath.Join(fixtures, script)}, args...)...)
}

func load(tb testing.TB, path string) []byte {
	tb.Helper()
	return must.Get(os.ReadFile(path))(tb)
}

// Not one bit differs, of lossy formats too: JPEG is decoded by the same library, WebP is defined to the bit.
func TestDecodeAsPillow(t *testing.T) {
	dir, pictures := pillow(t)
	var d Decoder
	libraries := map[string]int{}
	for _, p := range pictures {
		got, library, err := d.Decode(load(t, filepath.Join(dir, p.File)))
		switch {
		case p.Refused != "" && (err == nil || !errors.Is(err, ErrPicture)):
			t.Errorf("%s: %v; Pillow says: %s", p.File, err, p.Refused)
		case p.Refused != "":
		case err != nil:
			t.Errorf("%s: %v; Pillow decodes it", p.File, err)
		case got.Width != p.Width || got.Height != p.Height || got.Channels != p.Channels || got.Bits != p.Bits:
			t.Errorf("%s: %d by %d by %d of %d bits; Pillow's %s is %d by %d by %d of %d", p.File,
				got.Width, got.Height, got.Channels, got.Bits, p.Mode, p.Width, p.Height, p.Channels, p.Bits)
		default:
			want := load(t, filepath.Join(dir, p.File+".raw"))
			if n, most := differences(got.Bytes, want); n > 0 {
				t.Errorf("%s: %d of %d samples differ from Pillow's %s, by up to %d", p.File, n, len(want), p.Mode,
					most)
			}
			libraries[library]++
		}
	}
	for name, c := range codecs {
		if libraries[c.library] == 0 {
			t.Errorf("no picture was decoded by %s for %s", c.library, name)
		}
	}
}

func differences(got, want []byte) (n, most int) {
	if len(got) != len(want) {
		return max(len(got), len(want)), 255
	}
	for i := range got {
		if d := max(int(got[i])-int(want[i]), int(want[i])-int(got[i])); d > 0 {
			n++
			most = max(most, d)
		}
	}
	return n, most
}

// hugePNG is a PNG that says to have so many pixels and holds none.
func hugePNG(width, height uint32) []byte {
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), width), height)
	head = append(head, 16, 6, 0, 0, 0)
	file := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(head))
}

func TestTooLargePicturesAreRefusedByTheirHeaders(t *testing.T) {
	dir, _ := pillow(t)
	bmp := load(t, filepath.Join(dir, "rgb.bmp"))
	binary.LittleEndian.PutUint32(bmp[18:], 60000)
	binary.LittleEndian.PutUint32(bmp[22:], 60000)
	gif := load(t, filepath.Join(dir, "gray.gif"))
	binary.LittleEndian.PutUint16(gif[6:], 65535)
	binary.LittleEndian.PutUint16(gif[8:], 65535)
	jpg := load(t, filepath.Join(dir, "gray.jpg"))
	at := bytes.Index(jpg, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(jpg[at+5:], 65500)
	binary.BigEndian.PutUint16(jpg[at+7:], 65500)
	webp := load(t, filepath.Join(dir, "lossless.webp"))
	binary.LittleEndian.PutUint32(webp[21:], 0x0fffffff)
	tif := load(t, filepath.Join(dir, "raw.tif"))
	for _, tag := range []byte{0, 1} { // ImageWidth is 256, ImageLength 257; both are short or long
		entry := bytes.Index(tif, []byte{tag, 1})
		binary.LittleEndian.PutUint16(tif[entry+2:], 4)
		binary.LittleEndian.PutUint32(tif[entry+8:], 1<<20)
	}
	var d Decoder
	for name, data := range map[string][]byte{
		"png": hugePNG(60000, 60000), "bmp": bmp, "gif": gif, "jpeg": jpg, "webp": webp, "tiff": tif,
	} {
		if _, _, err := d.Decode(data); !errors.Is(err, jpeg.ErrTooLarge) || !errors.Is(err, ErrPicture) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if cap(d.buf) != 0 {
		t.Errorf("a buffer of %d bytes was made", cap(d.buf))
	}
}

func TestDecodeRefuses(t *testing.T) {
	var d Decoder
	for name, data := range map[string][]byte{
		"nothing":            nil,
		"text":               []byte("just text"),
		"a start alone":      []byte("\xff\xd8\xff"),
		"no pixels":          hugePNG(0, 5),
		"an HDF5 file":       []byte("\x89HDF\r\n\x1a\n"),
		"an end in the IDAT": hugePNG(5, 5),
	} {
		_, _, err := d.Decode(data)
		// Only a file that became shorter may be taken for one.
		if !errors.Is(err, ErrPicture) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a damaged file says of itself may go to a terminal.
func TestDecodeErrorsArePlainText(t *testing.T) {
	var d Decoder
	_, _, err := d.Decode([]byte("GIF8\x1b[31m and more of it"))
	if err == nil || strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("%q", err)
	}
}

// A library that fails on a file is that file's trouble, not the end of the process.
func TestDecodersThatPanic(t *testing.T) {
	good := codecs["gif"]
	t.Cleanup(func() { codecs["gif"] = good })
	codecs["gif"] = codec{library: "go/gif", decode: func(_ *Decoder, data []byte) (Pixels, error) {
		return Pixels{Width: int(data[len(data)])}, nil
	}}
	var d Decoder
	if p, library, err := d.Decode([]byte("GIF89a")); !errors.Is(err, ErrPicture) || library != "go/gif" ||
		p.Width != 0 {
		t.Errorf("%+v by %q, %v", p, library, err)
	}
}

// A palette may be shorter than the indices that a file holds: x/image refuses such a BMP, the others come out black.
func TestIndicesBeyondAPalette(t *testing.T) {
	dir, _ := pillow(t)
	data := load(t, filepath.Join(dir, "palette.bmp"))
	used := binary.LittleEndian.Uint32(data[46:])
	if used == 0 {
		used = 256
	}
	start := binary.LittleEndian.Uint32(data[10:])
	if start != 54+4*used {
		t.Fatalf("pixels from byte %d, with %d colors", start, used)
	}
	short := append(bytes.Clone(data[:54+4*2]), data[start:]...)
	binary.LittleEndian.PutUint32(short[46:], 2)
	binary.LittleEndian.PutUint32(short[10:], 54+4*2)
	var d Decoder
	if _, _, err := d.Decode(short); !errors.Is(err, ErrPicture) || !strings.Contains(err.Error(), "palette") {
		t.Errorf("a BMP: %v", err)
	}
	p := image.NewPaletted(image.Rect(0, 0, 2, 1), color.Palette{color.White})
	p.Pix[1] = 7
	if got, err := d.pack(p, 3); err != nil || !bytes.Equal(got.Bytes, []byte{255, 255, 255, 0, 0, 0}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	dir, pictures := pillow(f)
	for _, p := range pictures {
		f.Add(load(f, filepath.Join(dir, p.File)))
	}
	f.Add(hugePNG(60000, 60000))
	headers := must.Get(jpeg.NewDecoder())(f)
	var d Decoder
	f.Fuzz(func(t *testing.T, data []byte) {
		pixels := 0 // as the header says
		if c := codecs[format.OfBytes(data).Name]; c.header != nil {
			if config, err := c.header(data); checkSize(config, err) == nil {
				pixels = config.Width * config.Height
			}
		} else if info, err := headers.Header(data); err == nil {
			pixels = info.Width * info.Height
		}
		if pixels > 1<<20 { // allowed, and slow
			return
		}
		p, _, err := d.Decode(data)
		switch {
		case err == nil && (p.Width < 1 || p.Height < 1 || len(p.Bytes) != p.Width*p.Height*p.Channels*p.Bits/8):
			t.Fatalf("%d by %d by %d of %d bits in %d bytes", p.Width, p.Height, p.Channels, p.Bits, len(p.Bytes))
		case err != nil && !errors.Is(err, ErrPicture):
			t.Fatal(err)
		case err != nil && strings.Contains(err.Error(), "its decoder failed"):
			t.Fatal(err)
		}
	})
}
