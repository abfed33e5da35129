package jpeg

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// picture is what Pillow made of a file: a row of pictures.json.
type picture struct {
	File                          string
	Width, Height, Channels, Bits int
	Refused                       string
}

// pillow has Pillow write its pictures into a folder, and returns those of JPEG.
func pillow(tb testing.TB) (dir string, pictures []picture) {
	tb.Helper()
	dir = tb.TempDir()
	must.Python(tb, "../../testdata/datasets/make_pictures.py", dir)
	raw := must.Get(os.ReadFile(filepath.Join(dir, "pictures.json")))(tb)
	var all []picture
	must.Do(tb, json.Unmarshal(raw, &all))
	for _, p := range all {
		if strings.HasSuffix(p.File, ".jpg") {
			pictures = append(pictures, p)
		}
	}
	return dir, pictures
}

func read(tb testing.TB, dir, name string) []byte {
	tb.Helper()
	return must.Get(os.ReadFile(filepath.Join(dir, name)))(tb)
}

func decoder(tb testing.TB) *Decoder {
	tb.Helper()
	return must.Get(NewDecoder())(tb)
}

// The same library with the same settings: not one bit differs, and what one refuses the other refuses.
func TestDecodeAsPillow(t *testing.T) {
	dir, pictures := pillow(t)
	d, into := decoder(t), []byte(nil)
	whole, refused := 0, 0
	for _, p := range pictures {
		width, height, channels, err := d.Decode(read(t, dir, p.File), &into)
		switch {
		case p.Refused != "" && err == nil:
			t.Errorf("%s: decoded; Pillow says: %s", p.File, p.Refused)
		case p.Refused != "":
			refused++
			if strings.Contains(p.Refused, "bytes not processed") && !errors.Is(err, ErrTruncated) {
				t.Errorf("%s: %v; Pillow says: %s", p.File, err, p.Refused)
			}
		case err != nil:
			t.Errorf("%s: %v; Pillow decodes it", p.File, err)
		case width != p.Width || height != p.Height || channels != p.Channels:
			t.Errorf("%s: %d by %d by %d, Pillow's is %d by %d by %d", p.File, width, height, channels, p.Width,
				p.Height, p.Channels)
		case !bytes.Equal(into, read(t, dir, p.File+".raw")):
			t.Errorf("%s: the pixels are not Pillow's", p.File)
		default:
			whole++
		}
	}
	if whole < 15 || refused < 20 {
		t.Errorf("%d pictures decoded, %d refused, want at least 15 and 20", whole, refused)
	}
}

func TestHeader(t *testing.T) {
	dir, _ := pillow(t)
	d := decoder(t)
	for name, want := range map[string]Info{
		"photo_444.jpg":      {117, 83, YCbCr},
		"photo_422.jpg":      {117, 83, YCbCr},
		"photo_420.jpg":      {117, 83, YCbCr},
		"gray.jpg":           {117, 83, Gray},
		"cmyk.jpg":           {117, 83, CMYK},
		"rgb_components.jpg": {117, 83, RGB},
	} {
		if got, err := d.Header(read(t, dir, name)); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	// 4:1:0 has no name in TurboJPEG 2.1, and is decoded all the same.
	odd := bytes.Replace(read(t, dir, "photo_444.jpg"), []byte{1, 0x11, 0, 2, 0x11, 1}, []byte{1, 0x42, 0, 2, 0x11, 1},
		1)
	if got, err := d.Header(odd); err != nil || got != (Info{117, 83, YCbCr}) {
		t.Errorf("an unusual subsampling: %+v, %v", got, err)
	}
}

// sized puts other measures into the header of a file.
func sized(file []byte, width, height int) []byte {
	file = bytes.Clone(file)
	at := bytes.Index(file, []byte{0xff, 0xc0}) + 5
	file[at], file[at+1], file[at+2], file[at+3] = byte(height>>8), byte(height), byte(width>>8), byte(width)
	return file
}

func gray(t *testing.T) []byte {
	t.Helper()
	return must.Get(Encode(make([]byte, 64), 8, 8, 1, 75))(t)
}

func TestTooLargeIsRefusedByItsHeader(t *testing.T) {
	d, into := decoder(t), []byte(nil)
	for _, c := range []struct{ width, height int }{{65500, 65500}, {65485, 2733}, {13370, 13385}, {13377, 13378},
		{11, 65500}} {
		_, err := d.Header(sized(gray(t), c.width, c.height))
		if refused := errors.Is(err, ErrTooLarge); refused != (c.width*c.height > MaxPixels) {
			t.Errorf("%d by %d: %v", c.width, c.height, err)
		}
	}
	if _, _, _, err := d.Decode(sized(gray(t), 65500, 65500), &into); !errors.Is(err, ErrTooLarge) || cap(into) != 0 {
		t.Errorf("%v, with a buffer of %d bytes", err, cap(into))
	}
}

// A valid progressive file may repeat its scans without end, each as costly as the first.
func TestTooManyScansAreRefused(t *testing.T) {
	dir, _ := pillow(t)
	file := read(t, dir, "progressive_gray.jpg")
	first := bytes.Index(file, []byte{0xff, 0xda})
	length := bytes.Index(file[first+2:], []byte{0xff, 0xc4}) + 2 // to the tables of the next
	scans := bytes.Repeat(file[first:first+length], 501)
	bomb := append(append(bytes.Clone(file[:first]), scans...), 0xff, 0xd9)
	var into []byte
	if _, _, _, err := decoder(t).Decode(bomb, &into); err == nil || !strings.Contains(err.Error(),
		"more than 500 scans") {
		t.Errorf("%v", err)
	}
}

func TestRefusals(t *testing.T) {
	d, into := decoder(t), []byte(nil)
	for name, data := range map[string][]byte{
		"nothing":       nil,
		"no JPEG":       []byte("not a picture"),
		"a start alone": {0xff, 0xd8},
		"12 bits":       bytes.Replace(gray(t), []byte{0xff, 0xc0, 0, 11, 8}, []byte{0xff, 0xc0, 0, 11, 12}, 1),
		"no width":      sized(gray(t), 0, 8),
	} {
		if _, _, _, err := d.Decode(data, &into); err == nil || strings.HasSuffix(err.Error(), ": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The decoder is as good as new.
	if width, height, channels, err := d.Decode(gray(t), &into); err != nil || width != 8 || height != 8 ||
		channels != 1 {
		t.Errorf("after refusals: %d by %d by %d, %v", width, height, channels, err)
	}
}

// Pillow, given the same pixels and quality, makes a file of the same pixels.
func TestEncodeAsPillow(t *testing.T) {
	dir, _ := pillow(t)
	d := decoder(t)
	for _, c := range []struct {
		from, want        string
		channels, quality int
	}{{"rgb.png", "photo_420.jpg", 3, 75}, {"gray.png", "gray.jpg", 1, 90}} {
		file := must.Get(Encode(read(t, dir, c.from+".raw"), 117, 83, c.channels, c.quality))(t)
		var into []byte
		if _, _, _, err := d.Decode(file, &into); err != nil || !bytes.Equal(into, read(t, dir, c.want+".raw")) {
			t.Errorf("%s: not the pixels of Pillow's %s (%v)", c.from, c.want, err)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	pixels := make([]byte, 12)
	for name, c := range map[string][4]int{
		"two channels":  {3, 2, 2, 75},
		"no quality":    {2, 2, 3, 0},
		"too good":      {2, 2, 3, 101},
		"too few bytes": {3, 2, 3, 75},
		"nothing":       {0, 2, 3, 75},
		"too wide":      {65501, 1, 1, 75},
	} {
		if _, err := Encode(pixels, c[0], c[1], c[2], c[3]); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDecodingDoesNotAllocate(t *testing.T) {
	file := gray(t)
	d, into := decoder(t), make([]byte, 64)
	allocations := testing.AllocsPerRun(100, func() {
		if _, _, _, err := d.Decode(file, &into); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Errorf("%g allocations a picture", allocations)
	}
}

func FuzzHeader(f *testing.F) {
	for _, channels := range []int{1, 3} {
		file := must.Get(Encode(make([]byte, 64*channels), 8, 8, channels, 75))(f)
		f.Add(file)
		f.Add(file[:len(file)/2])
	}
	f.Add([]byte{0xff, 0xd8, 0xff})
	d, into := decoder(f), []byte(nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := d.Header(data)
		if err != nil {
			return
		}
		if info.Width < 1 || info.Height < 1 || info.Width*info.Height > MaxPixels {
			t.Fatalf("%+v", info)
		}
		if info.Width*info.Height > 1<<20 { // so that the fuzzer gets on
			return
		}
		width, height, channels, err := d.Decode(data, &into)
		if err == nil && (width != info.Width || height != info.Height || channels != info.Color.Channels() ||
			len(into) != width*height*channels) {
			t.Fatalf("%d by %d by %d in %d bytes, with a header of %+v", width, height, channels, len(into), info)
		}
	})
}

// Of two huge pictures one after the other, the first is not in memory any more when the second is decoded.
func TestHugePictureTakesThePlaceOfAnother(t *testing.T) {
	const first, second = 8200, 8400 // both sides: 67 and 71 million pixels
	var files [][]byte
	for _, side := range []int{first, second} {
		files = append(files, must.Get(Encode(make([]byte, side*side), side, side, 1, 50))(t))
	}
	d := decoder(t)
	held := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapSys - m.HeapReleased)
	}
	debug.FreeOSMemory()
	before := held()
	var into []byte
	for i, side := range []int{first, second} {
		if _, _, _, err := d.Decode(files[i], &into); err != nil {
			t.Fatal(err)
		}
		if more := held() - before; more > int64(side*side)+16<<20 {
			t.Errorf("after picture %d of %d bytes, %d more are held than before", i, side*side, more)
		}
	}
}
