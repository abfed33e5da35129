package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The policy of doc.go in figures.
const (
	attempts = 3

	// quiet is how many cores others may use for a wrong verdict to be pipetune's alone; a machine with a desktop or a
	// CI agent that idles stays below it.
	quiet = 0.1

	// mostAgain is how many rows of a suite may need a second try. Where more do, right answers are a matter of luck.
	mostAgain = 2
)

// account counts which rows of a suite were right at the first try.
type account struct {
	rows  int
	again []string // those that were not
}

// close says the rate, and fails a suite that needed too many second tries.
func (a *account) close(t *testing.T) {
	t.Helper()
	text := fmt.Sprintf("right at the first try: %d of %d rows; not: %s", a.rows-len(a.again), a.rows,
		strings.Join(a.again, " "))
	if len(a.again) > mostAgain {
		t.Errorf("%s: at most %d may need a second", text, mostAgain)
		return
	}
	t.Log(text)
}

// miss is one bound that an attempt did not meet.
type miss struct {
	verdict bool   // what is concluded is wrong; else a figure is
	text    string // of a verdict without figures, so that the same is the same
}

// try is what an attempt came to.
type try struct {
	misses []miss
	others float64 // cores that others used meanwhile
	// by the trainer's own stop-watch the planted condition did not show, so the verdict proves nothing
	unshown bool
	// the planted rule is not among the first findings, which fails the table where it happens often (checkRanks)
	unranked bool
}

// wrongVerdict and wrongFigure add misses.
func (t *try) wrongVerdict(format string, args ...any) {
	t.misses = append(t.misses, miss{true, fmt.Sprintf(format, args...)})
}

func (t *try) wrongFigure(format string, args ...any) {
	t.misses = append(t.misses, miss{false, fmt.Sprintf(format, args...)})
}

func (t try) met() bool { return len(t.misses) == 0 && !t.unshown && !t.unranked }

// worse compares two attempts: in one that shows nothing nothing is proved, and a bound counts more than a rank.
func (t try) worse(other try) bool {
	if t.unshown != other.unshown {
		return t.unshown
	}
	if len(t.misses) != len(other.misses) {
		return len(t.misses) > len(other.misses)
	}
	return t.unranked && !other.unranked
}

// wrong lists the wrong verdicts of an attempt that nobody disturbed.
func (t try) wrong() (texts []string) {
	for _, m := range t.misses {
		if m.verdict && t.others < quiet {
			texts = append(texts, m.text)
		}
	}
	return texts
}

// ruling is what the attempts at a row amount to.
type ruling struct {
	again bool     // measure once more
	best  int      // the attempt that counts
	fails []string // why the row fails; empty: it passes
}

// rule applies the policy to the attempts made so far, of which there may be most.
func rule(tries []try, most int) ruling {
	r := ruling{best: bestOf(tries)}
	times := map[string]int{}
	for _, t := range tries {
		for _, text := range t.wrong() {
			if times[text]++; times[text] == 2 {
				r.fails = append(r.fails, "twice on a quiet machine: "+text)
			}
		}
	}
	right := 0
	for _, t := range tries {
		if t.met() {
			right++
		}
	}
	switch {
	case len(r.fails) > 0:
		return r
	case right > 0 && (len(times) == 0 || right > 1):
		return r
	case len(tries) < most:
		r.again = true
		return r
	case right > 0:
		return r
	}
	for _, m := range tries[r.best].misses {
		r.fails = append(r.fails, m.text)
	}
	if tries[r.best].unshown && slices.ContainsFunc(tries, func(t try) bool { return t.unshown && t.others < quiet }) {
		r.fails = append(r.fails, "the planted condition did not show, on a quiet machine")
	}
	return r
}

// bestOf is the first of the attempts that none is better than.
func bestOf(tries []try) int {
	best := 0
	for i, t := range tries {
		if tries[best].worse(t) {
			best = i
		}
	}
	return best
}

// measure makes attempts at a row until the policy has ruled, and fails the test where it fails. once measures, and
// says its figures in a line. An attempt is a test of its own: what it starts ends with it, and its failure ends the
// row. best is the attempt that counts.
func (a *account) measure(t *testing.T, once func(t *testing.T) (one try, figures string)) (best int) {
	t.Helper()
	var tries []try
	for {
		var one try
		var figures string
		if !t.Run(fmt.Sprintf("try %d", len(tries)+1), func(t *testing.T) { one, figures = once(t) }) {
			t.FailNow()
		}
		tries = append(tries, one)
		t.Logf("try %d: %s; others used %.2f cores; %s", len(tries), figures, one.others, one)
		r := rule(tries, attempts)
		if r.again && t.Context().Err() == nil {
			continue
		}
		a.rows++
		if len(tries) > 1 {
			a.again = append(a.again, t.Name())
		}
		for _, reason := range r.fails {
			t.Errorf("try %d of %d: %s", r.best+1, len(tries), reason)
		}
		return r.best
	}
}

// String says what an attempt came to.
func (t try) String() string {
	var words []string
	if t.unshown {
		words = append(words, "the planted condition did not show")
	}
	if t.unranked {
		words = append(words, "the planted rule is not among the first findings")
	}
	if missed := t.missed(); missed != "" {
		words = append(words, missed)
	}
	if len(words) == 0 {
		return "all bounds met"
	}
	return "MISSED: " + strings.Join(words, "; ")
}

// missed joins the bounds that were not met; "" where all were.
func (t try) missed() string {
	words := make([]string, len(t.misses))
	for i, m := range t.misses {
		words[i] = m.text
	}
	return strings.Join(words, "; ")
}

// TestPolicy holds the policy to what doc.go says of it.
func TestPolicy(t *testing.T) {
	good := try{}
	figure := try{misses: []miss{{text: "20 % apart"}}}
	wrong := try{misses: []miss{{verdict: true, text: "verdict is balanced"}}}
	other := try{misses: []miss{{verdict: true, text: "verdict is host-bound"}}}
	disturbed := try{misses: wrong.misses, others: 0.5}
	both := try{misses: append(slices.Clone(wrong.misses), figure.misses...), others: 0.5}
	unranked := try{unranked: true}
	unshown := try{unshown: true}
	unshownBusy := try{unshown: true, others: 0.5}
	for name, c := range map[string]struct {
		tries []try
		want  ruling
	}{
		"met at once":                {[]try{good}, ruling{}},
		"a figure is measured again": {[]try{figure}, ruling{again: true}},
		"and once more":              {[]try{figure, figure}, ruling{again: true}},
		"a later attempt meets all":  {[]try{figure, good}, ruling{best: 1}},
		"the last one does":          {[]try{figure, figure, good}, ruling{best: 2}},
		"none does": {[]try{figure, both, figure},
			ruling{fails: []string{"20 % apart"}}},
		"the best of them counts": {[]try{both, figure, both},
			ruling{best: 1, fails: []string{"20 % apart"}}},
		"one right verdict does not excuse":  {[]try{wrong, good}, ruling{best: 1, again: true}},
		"two right ones outvote a wrong one": {[]try{wrong, good, good}, ruling{best: 1}},
		"a right one and a disturbed one do": {[]try{wrong, good, figure}, ruling{best: 1}},
		"the same wrong verdict twice": {[]try{wrong, wrong},
			ruling{fails: []string{"twice on a quiet machine: verdict is balanced"}}},
		"with a right one between": {[]try{wrong, good, wrong},
			ruling{best: 1, fails: []string{"twice on a quiet machine: verdict is balanced"}}},
		"two different wrong ones, then right": {[]try{wrong, other, good}, ruling{best: 2}},
		"three wrong ones": {[]try{wrong, other, disturbed},
			ruling{fails: []string{"verdict is balanced"}}},
		"wrong on a busy machine, then right":       {[]try{disturbed, good}, ruling{best: 1}},
		"wrong on a busy machine twice, then right": {[]try{disturbed, disturbed, good}, ruling{best: 2}},
		"wrong on a busy machine for ever": {[]try{disturbed, disturbed, disturbed},
			ruling{fails: []string{"verdict is balanced"}}},
		"not shown":             {[]try{unshown}, ruling{again: true}},
		"badly ranked":          {[]try{unranked}, ruling{again: true}},
		"badly ranked for ever": {[]try{figure, unranked, unranked}, ruling{best: 1}},
		"not shown, quiet": {[]try{unshown, unshown, unshown},
			ruling{fails: []string{"the planted condition did not show, on a quiet machine"}}},
		"not shown, busy": {[]try{unshownBusy, unshownBusy, unshownBusy}, ruling{}},
		"not shown, once quiet": {[]try{unshownBusy, unshown, unshownBusy},
			ruling{fails: []string{"the planted condition did not show, on a quiet machine"}}},
		"not shown, then a figure": {[]try{unshownBusy, figure, unshownBusy},
			ruling{best: 1, fails: []string{"20 % apart"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := rule(c.tries, attempts)
			if got.again != c.want.again || got.best != c.want.best || !slices.Equal(got.fails, c.want.fails) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	if got := rule([]try{figure}, 1); got.again || len(got.fails) == 0 {
		t.Errorf("of a single attempt: %+v", got)
	}
}
