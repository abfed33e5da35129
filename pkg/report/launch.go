package report

import "slices"

// What becomes of a setting in a Patch.
const (
	PatchReplaced  = "replaced"  // a literal was
	PatchAdded     = "added"     // the call did not name it
	PatchRemoved   = "removed"   // it is refused beside another setting that is recommended
	PatchAlready   = "already"   // it has this value
	PatchElsewhere = "elsewhere" // the value comes from somewhere else: see Origin
)

// PatchHows lists these words.
var PatchHows = []string{PatchReplaced, PatchAdded, PatchRemoved, PatchAlready, PatchElsewhere}

// SlowItem is one of the items that took longest to read and transform.
type SlowItem struct {
	Index   int64   `json:"index"`   // as the sampler gave it to the dataset
	Seconds float64 `json:"seconds"` // mean of its times
	Times   int     `json:"times"`   // how often it was measured
}

// launch checks what only a launched job's report holds.
func (v *validator) launch(r *Report) {
	for _, s := range r.DataLoader().SlowItems {
		v.finite("slow item", s.Seconds)
	}
	if r.Patch == nil {
		return
	}
	changes := slices.ContainsFunc(r.Patch.Settings, func(s PatchedSetting) bool {
		return s.How != PatchAlready && s.How != PatchElsewhere
	})
	for _, s := range r.Patch.Settings {
		v.word("patch "+s.Setting+" how", s.How, PatchHows...)
		if s.Line < 0 {
			v.fail("patch "+s.Setting, "a line below 0")
		}
	}
	switch {
	case r.Kind != "diagnose":
		v.fail("patch", "of a "+r.Kind)
	case r.Patch.Diff != "" && !changes:
		v.fail("patch", "a diff that changes no setting")
	}
}
