package jpeg

import (
	"path/filepath"
	"testing"
)

// BenchmarkDecode decodes a picture of the size that ImageNet's have in the middle, with the spectrum of a photo. The same file takes
// libjpeg-turbo's tjbench and Pillow as long as the commit that added this says.
func BenchmarkDecode(b *testing.B) {
	path := filepath.Join(b.TempDir(), "photo.jpg")
	script := "import sys; sys.path.insert(0, '../../testdata/datasets'); from make_pictures import photo; photo(500, 375).save(sys.argv[1], quality=92)"
	python(b, "-c", script, path)
	data := read(b, filepath.Dir(path), filepath.Base(path))
	d, into := decoder(b), []byte(nil)
	b.ReportAllocs()
	b.SetBytes(500 * 375 * 3)
	for b.Loop() {
		if _, _, _, err := d.Decode(data, &into); err != nil {
			b.Fatal(err)
		}
	}
}
