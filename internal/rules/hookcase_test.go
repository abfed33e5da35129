package rules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
)

// setHook sets what a launched job reported itself: the field of the call, of its epochs' cost, of evaluating or of
// evidence.Hook that a key names (num_workers, redraw, mixed, torch), or by the keys
//
//	call FILE:LINE                where the training loop's DataLoader is made
//	evaluation FILE:LINE          another loader, asked without gradients; later settings evaluation.KEY are of it
//	open FILE:LINE CALLS SECONDS WHAT    a line that opens HDF5 files
//	archive FILE:LINE CALLS SECONDS WHAT    a line that opens archives or reads files whole
//	sync FILE:LINE CALLS SECONDS WHAT    a line that waits for the GPU
//	slow INDEX SECONDS TIMES      one of the slowest items
//
// The training loop's settings are facts as well, as evidence makes them.
func setHook(f *evidence.Facts, key, value string) (err error) {
	if f.Hook == nil {
		f.Hook = &evidence.Hook{}
	}
	h, call := f.Hook, &f.Hook.Loader
	defer func() {
		c := h.Loader
		f.Prefetch, f.BatchSize, f.Persistent, f.PinMemory, f.StartMethod, f.Sharing = c.Prefetch, c.BatchSize,
			c.Persistent, c.PinMemory, c.StartMethod, c.Sharing
	}()
	if inner, ok := strings.CutPrefix(key, "evaluation."); ok {
		if len(h.Others) == 0 {
			return fmt.Errorf("%s before the evaluation's loader", key)
		}
		key, call = inner, &h.Others[len(h.Others)-1]
	}
	switch key {
	case "call":
		call.File, call.Line, err = sourceLine(value)
	case "evaluation":
		other := evidence.LoaderCall{Evaluates: true}
		other.File, other.Line, err = sourceLine(value)
		h.Others = append(h.Others, other)
	case "open":
		h.Opens, err = addSite(h.Opens, value)
	case "archive":
		h.Archives, err = addSite(h.Archives, value)
	case "sync":
		h.Syncs, err = addSite(h.Syncs, value)
	case "slow":
		h.Slow, err = addSlow(h.Slow, value)
	default:
		err = setField(key, value, call, &h.Epoch, &h.Evaluating, h)
	}
	return err
}

func sourceLine(s string) (string, int, error) {
	file, number, ok := strings.Cut(s, ":")
	line, err := strconv.Atoi(number)
	if !ok || err != nil {
		return "", 0, fmt.Errorf("%q is no FILE:LINE", s)
	}
	return file, line, nil
}

func addSite(sites []evidence.Site, value string) ([]evidence.Site, error) {
	var s evidence.Site
	place, rest, _ := strings.Cut(value, " ")
	file, line, err := sourceLine(place)
	s.File, s.Line = file, line
	_, err2 := fmt.Sscan(rest, &s.Calls, &s.Seconds, &s.What)
	return append(sites, s), errors.Join(err, err2)
}

func addSlow(slow []evidence.SlowItem, value string) ([]evidence.SlowItem, error) {
	var s evidence.SlowItem
	_, err := fmt.Sscanf(value, "%d %g %d", &s.Index, &s.Seconds, &s.Times)
	return append(slow, s), err
}
