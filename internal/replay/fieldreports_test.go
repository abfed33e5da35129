package replay

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/benchmark/benchmarktest"
	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence/bench"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/pkg/report"
)

// fieldCase is one team's job as it was recorded, what they found by hand, and what they believed that does not hold.
type fieldCase struct {
	file        string // below testdata/cases
	class       report.Class
	first       string // the rule that leads
	findings    []string
	never       []string // rules, or groups of them, that must not be among the findings
	recommended []change
	planned     map[string]string // settings that a plan changes, and to what
	untouched   []string          // settings that no advice and no plan may change
	claims      []claim
}

// change is a recommendation that must be there.
type change struct {
	rule, setting, from string // from "": whatever it is
	to                  string // a pattern
	effect              bool   // with a predicted or measured effect that is a gain
}

// claim is one that a report made, and the words that answer it in a finding of the rule. Its number is that of
// docs/field-reports.md; 0: not among those that do not hold at all.
type claim struct {
	number     int
	said, rule string
	words      []string // patterns
}

const (
	prefetchAnswer = `a deeper prefetch_factor: the queue is empty because batches are made too slowly, and depth does not make them faster`
	batchAnswer    = `a larger batch_size: it takes the workers as much longer to make, so that samples per second stay what they are`
	gatherAnswer   = `gradient accumulation: it changes the effective batch, not how fast batches come`
	storageAnswer  = `faster storage, a RAM disk or a copy of the files in memory: loading waits for storage [0-9.]+ % of its time`
)

var fieldCases = []fieldCase{
	{
		file: "a-bags.jsonl", class: report.InputBound, first: "loader/workers-restart",
		findings: []string{"loader/workers-restart", "loader/collate-cost", "hdf5/reopened-per-item"},
		never:    []string{"storage/", "loader/prefetch-shallow", "loader/workers-too-few"},
		recommended: []change{
			{"loader/workers-restart", "persistent_workers", "False", `^True$`, true},
			{"hdf5/reopened-per-item", "opening the HDF5 file", "2 times per item",
				`^once per worker and file, on first use$`, true},
			{"loader/collate-cost", "collate_fn", "__main__.join_pieces",
				`^one allocation and one copy of each tensor$`, true},
		},
		untouched: []string{"prefetch_factor", "num_workers", "multiprocessing_context"},
		claims: []claim{
			{7, "each file open/close can take 10-100 ms", "hdf5/reopened-per-item",
				[]string{`opening and closing takes [0-9.]+ µs, [0-9.]+ % of the [0-9.]+ ms a worker needs`,
					`each worker keeps the files open that it has read from \([0-9]+ were opened; ulimit -n\)`}},
			{8, "compressed HDF5 if I/O is the bottleneck", "hdf5/reopened-per-item",
				[]string{`compressing the file: loading waits for storage [0-9.]+ % of its time`}},
			{10, "faster storage, RAM disk, preloading", "hdf5/reopened-per-item", []string{storageAnswer}},
			{1, "spawn is faster than fork (the second report)", "loader/workers-restart",
				[]string{`spawn instead of fork: a spawned worker starts Python and imports torch`,
					`not the fast one`}},
			{2, "prefetch_factor 2 -> 4: reduces GPU idle time", "",
				[]string{`a deeper prefetch_factor: the queue is lost with the workers`,
					`prefetch_factor=4: (beside the plan )?a simulation of the loader gives [0-9]+ /s instead of [0-9]+`}},
		},
	},
	{
		file: "b-mels.jsonl", class: report.InputBound, first: "hdf5/chunk-exceeds-cache",
		findings: []string{"hdf5/chunk-exceeds-cache", "job/evaluation-sequential"},
		never:    []string{"storage/", "loader/prefetch-shallow", "loader/workers-too-few"},
		recommended: []change{
			{"hdf5/chunk-exceeds-cache", "HDF5 chunk shape", "80x64x64", `^1x64x64$`, true},
			{"job/evaluation-sequential", "num_workers of the evaluation's DataLoader", "0", `^2$`, true},
			{"job/evaluation-sequential", "batch_size of the evaluation's DataLoader", "1", `^16$`, false},
		},
		// it evaluates in the middle of its epochs, and a deeper queue holds what is made meanwhile
		planned:   map[string]string{"prefetch_factor": "8"},
		untouched: []string{"num_workers", "multiprocessing_context", "batch_size"},
		claims: []claim{
			{9, "set_cache(0, 521, 32 MiB, 0.75)", "hdf5/chunk-exceeds-cache",
				[]string{`keep all of it decoded: h5py.File\(path, "r", rdcc_nbytes=104857600, rdcc_nslots=8009\), ` +
					`400 MiB in all`}},
			{6, "gradient accumulation: 10-15 % more throughput", "hdf5/chunk-exceeds-cache", []string{gatherAnswer}},
			{8, "compressed HDF5 (the first report)", "hdf5/chunk-exceeds-cache",
				[]string{`decompresses a chunk of 1.25 MiB, 80 times what it needs: the chunk is larger than the 1 MiB chunk cache and is never kept`}},
		},
	},
	{
		file: "c-mels-later.jsonl", class: report.InputBound, first: "loader/workers-too-few",
		findings: []string{"loader/workers-too-few"},
		never:    []string{"gpu/batch-headroom", "loader/prefetch-shallow"},
		recommended: []change{
			{"loader/workers-too-few", "num_workers", "1", `^[2-8]$`, true},
		},
		untouched: []string{"prefetch_factor", "batch_size"},
		claims: []claim{
			{2, "prefetch_factor 8 -> 16: the GPU never starves", "loader/workers-too-few", []string{prefetchAnswer}},
			{13, "batch_size 5632 -> 8192: 70-85 % GPU utilization", "loader/workers-too-few", []string{batchAnswer}},
		},
	},
	{
		file: "c-mels-later-fed.jsonl", class: report.Balanced, first: "",
		findings: []string{"gpu/batch-headroom"},
		never:    []string{"loader/workers-too-few", "gpu/memory-full"},
		recommended: []change{
			{"gpu/batch-headroom", "batch_size", "",
				`torch.cuda.max_memory_allocated\(\) at two sizes allows, up to 80 % of the memory`, false},
		},
		claims: []claim{
			{3, "RTX 5090 24 GB", "gpu/batch-headroom",
				[]string{`25 % of the 31.8 GiB of NVIDIA GeForce RTX 5090 is allocated`}},
			{4, "a table of batch sizes by card", "gpu/batch-headroom",
				[]string{`the batch size changes training itself`, `the gain cannot be predicted from outside`}},
			{6, "gradient accumulation", "gpu/batch-headroom",
				[]string{`gradient accumulation: it changes the effective batch, not the work per launch`}},
		},
	},
	{
		file: "d-volumes.jsonl", class: report.InputBound, first: "loader/workers-too-few",
		findings: []string{"loader/workers-too-few", "loader/workers-restart", "loader/spawn-start-cost",
			"gpu/memory-full"},
		never: []string{"gpu/batch-headroom", "loader/prefetch-shallow", "storage/"},
		recommended: []change{
			{"loader/workers-too-few", "num_workers", "1", `^[2-8]$`, true},
			{"loader/workers-restart", "persistent_workers", "False", `^True$`, true},
			{"loader/spawn-start-cost", "multiprocessing_context", "spawn", `^fork$`, true},
			{"gpu/memory-full", "torch.cuda.max_memory_allocated()", "", `.`, false},
			{"gpu/memory-full", "precision", "", `mixed`, false},
			{"gpu/memory-full", "activations", "", `checkpoint`, false},
		},
		untouched: []string{"batch_size", "prefetch_factor"},
		claims: []claim{
			{5, "77 of 80 GB used; batch 2 needs only +5.3 MB", "gpu/memory-full",
				[]string{`96 % of the 80 GiB of NVIDIA A100-SXM4-80GB is allocated`,
					`what nvidia-smi shows beyond it is kept by the allocator`,
					`a larger batch_size, until torch.cuda.max_memory_allocated\(\) shows room: it may end the job, and input size says nothing of activations`}},
			{13, "4x speed-up from batch 4", "loader/workers-too-few", []string{batchAnswer}},
			{6, "accumulate_steps=2", "loader/workers-too-few", []string{gatherAnswer}},
			{12, "num_workers = num_CPUs / 2", "loader/workers-too-few",
				[]string{`a batch takes a worker [0-9.]+ ms, the step without waiting takes [0-9.]+ ms`,
					`up to [0-9.]+ [MG]iB more memory for the workers`}},
			{2, "prefetch_factor 2: 10-20 % from better overlap", "loader/workers-too-few", []string{prefetchAnswer}},
			{1, "spawn (the second report: faster than fork)", "loader/spawn-start-cost",
				[]string{`restarted by spawn with each epoch, which takes [0-9.]+ % of the time`}},
		},
	},
	{
		file: "e-faces.jsonl", class: report.InputBound, first: "cpu/decode-bound",
		findings: []string{"cpu/decode-bound", "image/png-decode", "cpu/saturated"},
		never:    []string{"storage/", "loader/prefetch-shallow", "loader/workers-too-few"},
		recommended: []change{
			{"cpu/decode-bound", "CPU time per batch in the workers", "", `^at most`, true},
			{"image/png-decode", "picture format", "PNG", `^JPEG for photographs`, true},
			{"cpu/saturated", "num_workers", "6", `^2$`, false},
		},
		untouched: []string{"prefetch_factor", "batch_size", "where the dataset lies"},
		claims: []claim{
			{10, "the disk is the bottleneck; ROTA=1; %util; copy to /tmp; preload", "", []string{storageAnswer}},
			{2, "prefetch_factor 8 feeds the GPU", "cpu/decode-bound", []string{prefetchAnswer}},
			{0, "12 workers load in parallel", "cpu/decode-bound",
				[]string{`more workers: all 2 usable CPUs are busy already`}},
			{13, "larger batch: more work per load", "cpu/decode-bound", []string{batchAnswer}},
		},
	},
	{
		file:     "b-mels-bench.json",
		findings: []string{"hdf5/chunk-exceeds-cache", "hdf5/cache-too-small", "storage/tmpfs-is-not"},
		recommended: []change{
			{"hdf5/chunk-exceeds-cache", "HDF5 chunk shape", "(80, 64, 64)", `^1x64x64$`, true},
			{"hdf5/cache-too-small", "rdcc_nbytes of h5py.File", "", `^128 MiB$`, true},
		},
		claims: []claim{
			{9, "set_cache(0, 521, 32 MiB, 0.75)", "hdf5/cache-too-small",
				[]string{`it holds 100 % of the dataset, and each worker has its own`, `rdcc_nslots=10243\)`}},
			{10, "/tmp is a RAM disk", "storage/tmpfs-is-not",
				[]string{`lies under /tmp, which is not a RAM disk here`}},
		},
	},
	{
		file:     "e-faces-bench.json",
		findings: []string{"image/png-decode", "image/oversized"},
		never:    []string{"storage/rotational", "storage/saturated"},
		recommended: []change{
			{"image/png-decode", "picture format", "PNG", `^JPEG for photographs`, true},
			{"image/oversized", "size of the pictures", "", `what training needs`, true},
		},
		claims: []claim{
			{10, "use an SSD", "",
				[]string{`faster storage \(NVMe, a RAM disk\): these times are of reads that the page cache answers`}},
			{11, "JPEG loads 2x faster", "image/png-decode",
				[]string{`never for labels, masks, medical or depth data`}},
		},
	},
}

// TestFieldReports holds what five teams reported of their jobs against what pipetune says of the same.
func TestFieldReports(t *testing.T) {
	for _, c := range fieldCases {
		t.Run(c.file, func(t *testing.T) { c.check(t, fieldReport(t, c.file)) })
	}
}

// fieldReport judges a recording, or measurements of bench-io, by the rules as they are.
func fieldReport(t *testing.T, name string) *report.Report {
	t.Helper()
	path := filepath.Join("../../testdata/cases", name)
	if filepath.Ext(name) == ".jsonl" {
		return judged(t, path)
	}
	r := decoded(t, path)
	r.Findings, r.Abstained, r.Next = nil, nil, nil
	diagnose.Bench(r, bench.Evidence(r, benchmarktest.Rows(r.Measurements)), rules.All())
	return r
}

// decoded is a report as it was kept.
func decoded(t *testing.T, path string) *report.Report {
	t.Helper()
	return must.Read(t, path, report.Decode)
}

func (c fieldCase) check(t *testing.T, r *report.Report) {
	t.Helper()
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if r.Verdict != nil && (r.Verdict.Class != c.class || c.first != "" && r.Verdict.Rule != c.first) {
		t.Errorf("the verdict is %s by %s, want %s by %s", r.Verdict.Class, r.Verdict.Rule, c.class, c.first)
	}
	for _, id := range c.findings {
		if finding(r, id) == nil {
			t.Errorf("no finding %s in %v", id, found(r))
		}
	}
	for _, f := range r.Findings {
		for _, not := range c.never {
			if f.Rule == not || strings.HasSuffix(not, "/") && strings.HasPrefix(f.Rule, not) {
				t.Errorf("%s: %s", f.Rule, f.Summary)
			}
		}
	}
	for _, want := range c.recommended {
		want.check(t, r)
	}
	for setting, to := range c.planned {
		if !slices.ContainsFunc(planned(r), func(x report.Recommendation) bool {
			return x.Setting == setting && x.To == to
		}) {
			t.Errorf("no plan has %s=%s: %+v", setting, to, planned(r))
		}
	}
	for _, setting := range c.untouched {
		if d := r.Decision(setting); d != nil && d.Outcome == report.ToChange && d.Hold != report.HoldCostsNothing {
			t.Errorf("%s → %s is advised", setting, d.To)
		}
	}
	for _, claim := range c.claims {
		text := answers(r, claim.rule)
		for _, words := range claim.words {
			if !regexp.MustCompile(words).MatchString(text) {
				t.Errorf("%q is not answered by %q in %s:\n%s", claim.said, words, claim.rule, text)
			}
		}
	}
}

func (want change) check(t *testing.T, r *report.Report) {
	t.Helper()
	f := finding(r, want.rule)
	if f == nil {
		return // reported already
	}
	for _, got := range f.Recommendations {
		if got.Setting != want.setting || want.from != "" && (got.From == nil || *got.From != want.from) ||
			!regexp.MustCompile(want.to).MatchString(got.To) {
			continue
		}
		if e := got.Effect; want.effect && (e == nil || e.After <= e.Before || e.Hi <= e.Before || e.Lo > e.After ||
			e.After > e.Hi) {
			t.Errorf("%s %s → %s: the effect is %+v", want.rule, want.setting, got.To, e)
		}
		return
	}
	t.Errorf("%s does not recommend %s %s → %s: %+v", want.rule, want.setting, want.from, want.to, f.Recommendations)
}

func finding(r *report.Report, id string) *report.Finding {
	i := slices.IndexFunc(r.Findings, func(f report.Finding) bool { return f.Rule == id })
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

func found(r *report.Report) (ids []string) {
	for _, f := range r.Findings {
		ids = append(ids, f.Rule)
	}
	return ids
}

// planned lists the changes of all plans.
func planned(r *report.Report) (list []report.Recommendation) {
	for _, p := range r.Plans {
		list = append(list, p.Changes...)
	}
	return list
}

// answers is all that a finding says, in lines; without a rule that of all findings.
func answers(r *report.Report, id string) string {
	var lines []string
	for _, f := range r.Findings {
		if id != "" && f.Rule != id {
			continue
		}
		lines = append(lines, f.Summary)
		for _, c := range f.Recommendations {
			lines = append(lines, c.Setting+" → "+c.To, c.Why, c.Caveat)
		}
		lines = append(lines, f.WontHelp...)
	}
	return strings.Join(lines, "\n")
}
