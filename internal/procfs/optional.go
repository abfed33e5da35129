package procfs

// Optional is a value that the kernel may or may not report. The zero value is
// absent, so a field that nobody filled in is never taken for a measured zero.
type Optional[T any] struct {
	value   T
	present bool
}

// Some returns a present value.
func Some[T any](v T) Optional[T] { return Optional[T]{v, true} }

// Get returns the value and whether it is there.
func (o Optional[T]) Get() (T, bool) { return o.value, o.present }

// Or returns the value, or the given one where it is absent.
func (o Optional[T]) Or(absent T) T {
	if o.present {
		return o.value
	}
	return absent
}
