package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/stat"
)

// setHook sets what a launched job reported itself. Its keys:
//
//	torch VERSION
//	items FILE:LINE       of the dataset's method that makes items
//	call FILE:LINE
//	evaluation FILE:LINE          another loader, asked without gradients; later settings evaluation.KEY are of it
//	workers, prefetch, batch_size, persistent, pin_memory, in_order, collate, sampler, start_method, iterable, shards,
//	sharing, open_files           of the call; for the training loop also facts, as evidence makes them
//	num_samples N                 of the sampler
//	epoch BATCHES                 that one has
//	drawing, drawing_again SECONDS    of its first indices, and once more for new workers
//	anew TIMES                    the call made so many loaders, one for each epoch
//	open FILE:LINE CALLS SECONDS WHAT    a line that opens HDF5 files
//	sync FILE:LINE CALLS SECONDS WHAT    a line that waits for the GPU
//	sync_points false             the methods of Tensor that wait for it were not timed
//	slow INDEX SECONDS TIMES      one of the slowest items
func setHook(f *evidence.Facts, key, value string) error {
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
	var err error
	switch key {
	case "torch":
		h.Torch = value
	case "call":
		call.File, call.Line, err = sourceLine(value)
	case "items":
		call.ItemFile, call.ItemLine, err = sourceLine(value)
	case "evaluation":
		other := evidence.LoaderCall{Evaluates: true}
		other.File, other.Line, err = sourceLine(value)
		h.Others = append(h.Others, other)
	case "open":
		h.Opens, err = addSite(h.Opens, value)
	case "sync_points":
		h.SyncsPartly = value == "false"
	case "sync":
		h.Syncs, err = addSite(h.Syncs, value)
	case "slow":
		h.Slow, err = addSlow(h.Slow, value)
	case "drawing", "drawing_again":
		var took float64
		took, err = strconv.ParseFloat(value, 64)
		if key == "drawing" {
			h.Epoch.Draw = stat.Exact(took)
		} else {
			h.Epoch.Redraw = stat.Exact(took)
		}
	case "num_samples":
		var n int
		n, err = strconv.Atoi(value)
		call.NumSamples = &n
	case "epoch":
		var batches float64
		batches, err = strconv.ParseFloat(value, 64)
		h.Epoch.Batches = stat.Exact(batches)
	case "anew":
		call.RecreatedEachEpoch = true
		call.Made, err = strconv.Atoi(value)
	default:
		err = setField(call, key, value)
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
	words := strings.SplitN(value, " ", 4)
	if len(words) < 4 {
		return nil, fmt.Errorf("want FILE:LINE CALLS SECONDS WHAT")
	}
	s := evidence.Site{}
	s.What = words[3]
	var err error
	if s.File, s.Line, err = sourceLine(words[0]); err != nil {
		return nil, err
	}
	if s.Calls, err = parseNumber(words[1]); err != nil {
		return nil, err
	}
	s.Seconds, err = parseNumber(words[2])
	return append(sites, s), err
}

func addSlow(slow []evidence.SlowItem, value string) ([]evidence.SlowItem, error) {
	var s evidence.SlowItem
	_, err := fmt.Sscanf(value, "%d %g %d", &s.Index, &s.Seconds, &s.Times)
	return append(slow, s), err
}
