package report

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
