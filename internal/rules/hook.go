package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
)

// What rules take from the hook of a launched job: exact shares of an item, settings and places in the source.

// made is where the time of making an item goes, as the hook measured it inside the worker: shares of that time.
type made struct {
	item                                                float64 // seconds
	open, read, decode, resize, archive, other, collate float64
}

// madeOf is nothing where the hook reported nothing.
func madeOf(p *diagnose.Pass) made {
	item := p.OrZero(metric.MadeItem)
	if !diagnose.Hooked(p.Evidence) || !(item > 0) {
		return made{}
	}
	of := func(d metric.Desc) float64 { return share(p.OrZero(d) / item) }
	return made{item: item, open: of(metric.MadeOpen), read: of(metric.MadeRead), decode: of(metric.MadeDecode),
		resize: of(metric.MadeResize), archive: of(metric.MadeArchive), other: of(metric.MadeOther),
		collate: of(metric.MadeCollate)}
}

// withoutH5py reports whether items are known to be made without h5py; false where the hook reported nothing.
func withoutH5py(p *diagnose.Pass) bool {
	open, ok := p.Maybe(metric.MadeOpen)
	read, ok2 := p.Maybe(metric.MadeRead)
	return diagnose.Hooked(p.Evidence) && ok && ok2 && open <= 0 && read <= 0
}

// most names the largest part of an item's time and its share.
func (m made) most() (string, float64) {
	name, at := "the dataset's own code", m.other
	for _, c := range []struct {
		name string
		part float64
	}{{"opening HDF5 files", m.open}, {"reading HDF5 datasets", m.read}, {"decoding pictures", m.decode},
		{"resizing pictures", m.resize},
		{"opening and reading archives and other files", m.archive}, {"collate_fn", m.collate}} {
		if c.part > at {
			name, at = c.name, c.part
		}
	}
	return name, at
}

// version is a version of PyTorch: 2.6 is {2, 6}.
type version [2]int

// The versions that brought what rules recommend.
var (
	inOrderSince = version{2, 6} // torch/utils/data/dataloader.py: DataLoader(in_order=...)
	// torch/utils/data/_utils/fetch.py: __getitems__ of a map-style dataset; seen in 1.13, older ones were not looked
	// at
	fetchesAll = version{1, 13}
)

// lacks reports whether the job's PyTorch is known to be older than since; false where its version is unknown.
func lacks(p *diagnose.Pass, since version) bool {
	var own version
	n, _ := fmt.Sscanf(p.Reported().Torch, "%d.%d", &own[0], &own[1])
	return n == 2 && slices.Compare(own[:], since[:]) < 0
}

// callOf is the DataLoader of the training loop; its zero value where nothing was reported.
func callOf(p *diagnose.Pass) evidence.LoaderCall { return p.Reported().Loader }

// lineOf is a line of the source as it stands in a sentence; "" where it is unknown.
func lineOf(file string, line int) string {
	if diagnose.At(file, line) == nil {
		return ""
	}
	return file + ":" + strconv.Itoa(line)
}

// sitesSaid names the lines with the most time: "train.py:41 (item: 12 % of the time)".
func sitesSaid(p *diagnose.Pass, sites []evidence.Site) string {
	const shown = 3
	window, ok := p.Maybe(metric.WindowTime)
	var lines []string
	for _, s := range sites[:min(len(sites), shown)] {
		where := lineOf(s.File, s.Line)
		if where == "" {
			continue
		}
		cost := unit.Seconds(s.Seconds) + " in all"
		if ok && window > 0 {
			cost = unit.Percent(share(s.Seconds/window)) + " of the time"
		}
		lines = append(lines, fmt.Sprintf("%s (%s: %s)", where, s.What, cost))
	}
	return strings.Join(lines, ", ")
}
