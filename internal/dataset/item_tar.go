package dataset

// members is a tar file whose items are members of it.
type members struct{ *plainFile }

func openMembers(_ Source, f File) (Handle, error) {
	p, err := openPlain(f)
	if err != nil {
		return nil, err
	}
	return members{p}, nil
}

// Read delivers the bytes of a member, which lie in one piece.
func (m members) Read(item Ref, buf []byte) ([]byte, error) { return m.read(buf, item.At, item.Bytes) }

// At is where a member's bytes begin.
func (m members) At(item Ref) (int64, error) { return item.At, nil }
