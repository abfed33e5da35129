package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pipetune/pipetune/internal/must"
)

// tars has Python write tar files into a folder, and returns where its tarfile finds their members.
func tars(tb testing.TB) (dir string, members map[string][]Member) {
	tb.Helper()
	dir = tb.TempDir()
	python(tb, "make_tars.py", dir)
	must.Do(tb, json.Unmarshal(load(tb, filepath.Join(dir, "tars.json")), &members))
	return dir, members
}

func indexOf(t *testing.T, data []byte) ([]Member, TarIndex) {
	t.Helper()
	var members []Member
	index := must.Get(IndexTar(bytes.NewReader(data), int64(len(data)), func(m Member) bool {
		members = append(members, m)
		return true
	}))(t)
	return members, index
}

func TestIndexTarAsPython(t *testing.T) {
	dir, want := tars(t)
	for name, want := range want {
		members, index := indexOf(t, load(t, filepath.Join(dir, name)))
		if diff := cmp.Diff(want, members, cmpopts.IgnoreFields(Member{}, "Picture")); diff != "" {
			t.Errorf("%s (-Python +got):\n%s", name, diff)
		}
		counts := TarIndex{Members: int64(len(want))}
		switch {
		case strings.HasPrefix(name, "shard"):
			counts.Members = 60
		case strings.HasPrefix(name, "sparse"):
			counts.Sparse = 1
		}
		if diff := cmp.Diff(counts, index); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An item is read from where the index says it lies.
func TestMembersAreReadWhereTheIndexSays(t *testing.T) {
	dir, want := tars(t)
	path := filepath.Join(dir, "shard_pax.tar")
	h := openItem(t, Source{Kind: Tar}, fileAt(t, path))
	for i, m := range want["shard_pax.tar"] {
		got, err := h.Read(Ref{At: m.At, Bytes: m.Bytes}, nil)
		sample := byte(i / 3)
		if err != nil || strings.HasSuffix(m.Name, ".jpg") &&
			!bytes.Equal(got, append([]byte{0xff, 0xd8, 0xff}, bytes.Repeat([]byte{sample}, 1000+100*int(sample))...)) {
			t.Errorf("%s: %d bytes, %v", m.Name, len(got), err)
		}
	}
}

func TestIndexTarStopsWhenAsked(t *testing.T) {
	dir, _ := tars(t)
	data := load(t, filepath.Join(dir, "shard_gnu.tar"))
	seen := 0
	index, err := IndexTar(bytes.NewReader(data), int64(len(data)), func(Member) bool { seen++; return seen < 7 })
	if err != nil || seen != 7 || !index.More || index.Members != 7 {
		t.Errorf("%d visited, %+v, %v", seen, index, err)
	}
}

// A cut file has members up to the cut: all that lie in it whole, and a word about the rest.
func TestIndexTarOfACutFile(t *testing.T) {
	dir, want := tars(t)
	data := load(t, filepath.Join(dir, "shard_ustar.tar"))
	end := want["shard_ustar.tar"][59]
	for cut := 0; cut < int(end.At+end.Bytes); cut += 256 {
		whole := int64(0)
		for _, m := range want["shard_ustar.tar"] {
			if m.At+m.Bytes <= int64(cut) {
				whole++
			}
		}
		_, index := indexOf(t, data[:cut])
		if index.Members > whole || index.Members < whole-1 { // the last may lack its padding
			t.Errorf("cut at %d: %+v, want %d members", cut, index, whole)
		}
	}
	damaged := bytes.Clone(data)
	damaged[want["shard_ustar.tar"][3].At-512+148] ^= 0x55 // a header's checksum
	if _, index := indexOf(t, damaged); index.Members != 3 || index.Problem.IsZero() {
		t.Errorf("a damaged header: %+v", index)
	}
}

func TestIndexTarReportsWhatReadingSays(t *testing.T) {
	dir, _ := tars(t)
	data := load(t, filepath.Join(dir, "shard_ustar.tar"))
	broken := errors.New("the disk broke")
	all := func(Member) bool { return true }
	file := failingAt{bytes.NewReader(data), 5000, broken}
	if _, err := IndexTar(file, int64(len(data)), all); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := IndexTar(bytes.NewReader(data[:5000]), int64(len(data)), all); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that became shorter: %v", err)
	}
}

// failingAt cannot be read from a byte on.
type failingAt struct {
	io.ReaderAt
	from int64
	err  error
}

func (f failingAt) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > f.from {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(p, at)
}

// Every member costs one read of 1 KiB, however long it is.
func TestIndexTarReadsHeadersOnly(t *testing.T) {
	dir, _ := tars(t)
	path := filepath.Join(dir, "shard_ustar.tar")
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	counted := &counting{ReaderAt: f}
	index, err := IndexTar(counted, fileAt(t, path).Bytes, func(Member) bool { return true })
	if err != nil || counted.calls > index.Members+2 || counted.bytes > 1024*counted.calls {
		t.Errorf("%d reads of %d bytes for %d members, %v", counted.calls, counted.bytes, index.Members, err)
	}
}

type counting struct {
	io.ReaderAt
	calls, bytes int64
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	c.calls++
	c.bytes += int64(len(p))
	return c.ReaderAt.ReadAt(p, at)
}

func FuzzIndexTar(f *testing.F) {
	dir, names := tars(f)
	for name := range names {
		data := load(f, filepath.Join(dir, name))
		f.Add(data[:min(len(data), 8<<10)]) // short, so that the fuzzer gets on
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		end, count := int64(0), int64(0)
		index := must.Get(IndexTar(bytes.NewReader(data), int64(len(data)), func(m Member) bool {
			if m.At < end+512 || m.Bytes < 0 || m.At+m.Bytes > int64(len(data)) {
				t.Fatalf("%+v after byte %d of %d", m, end, len(data))
			}
			end = m.At + m.Bytes
			count++
			return true
		}))(t)
		if index.Members != count {
			t.Fatalf("%+v, with %d visited", index, count)
		}
	})
}
