package dataset

// members is a tar file whose items are members of it.
type members struct{ *plainFile }

// Read delivers the bytes of a member, which lie in one piece.
func (m members) Read(item Ref, buf []byte) ([]byte, error) { return m.read(buf, item.At, item.Bytes) }

func (m members) At(item Ref) (int64, error) { return item.At, nil }
