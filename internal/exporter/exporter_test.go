package exporter

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/pipetune/pipetune/internal/live"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/otlp"
	"github.com/pipetune/pipetune/pkg/report"
)

func text(t *testing.T, e *Exporter) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, e.Text(&b))
	return b.String()
}

func frame() *live.Frame {
	flow := func(d metric.Desc, of live.Owner, now, total float64) live.Figure {
		return live.Figure{Signal: d, Of: of, Now: now, Total: total, Flow: true}
	}
	return &live.Frame{At: 90 * time.Second, Figures: []live.Figure{
		flow(metric.InputWait, live.Owner{Rank: "0"}, 0.25, 20),
		flow(metric.InputWait, live.Owner{Rank: "1"}, math.NaN(), 10),
		flow(metric.Workers, live.Owner{Rank: "0", State: "running"}, 1.5, 100),
		flow(metric.BatchesPerS, live.Owner{Rank: "0"}, 4, 360),
		flow(metric.GPUUtil, live.Owner{Device: "GPU-a"}, 0.5, 45),
		{Signal: metric.MemTotal, Now: 1 << 30},
	}}
}

func TestWhatIsOffered(t *testing.T) {
	e := New("1.2.3")
	if got := text(t, e); !strings.Contains(got, `pipetune_build_info{version="1.2.3"} 1`) ||
		strings.Contains(got, "watching") {
		t.Errorf("before a job is found:\n%s", got)
	}
	e.Job("train.py")
	e.Frame(frame())
	e.Judge(&report.Report{
		Verdict: &report.Verdict{Class: report.InputBound, Resource: report.HDF5, Rule: "hdf5/file-lock",
			Confidence: report.High},
		Metrics:  map[string]report.Metric{metric.StepTime.Name: {Center: 0.5}, metric.InputWait.Name: {Center: 0.3}},
		Findings: []report.Finding{{Rule: "hdf5/file-lock", Severity: report.Error, Score: 0.6}},
	})
	got := text(t, e)
	for _, want := range []string{
		`pipetune_input_wait_ratio{job_name="train.py",rank="0"} 0.25`,
		`pipetune_input_wait_seconds_total{job_name="train.py",rank="1"} 10`,
		`pipetune_worker_seconds_total{job_name="train.py",rank="0",state="running"} 100`,
		`pipetune_workers{job_name="train.py",rank="0",state="running"} 1.5`,
		`pipetune_batches_total{job_name="train.py",rank="0"} 360`,
		`pipetune_batches_per_second{job_name="train.py",rank="0"} 4`,
		`pipetune_gpu_utilization_ratio{device="GPU-a",job_name="train.py"} 0.5`,
		`pipetune_memory_total_bytes{job_name="train.py"} 1.073741824e+09`,
		`pipetune_step_time_seconds{job_name="train.py"} 0.5`,
		`pipetune_verdict_info{class="input-bound",confidence="high",job_name="train.py",resource="hdf5",rule="hdf5/file-lock"} 1`,
		`pipetune_finding_score{job_name="train.py",rule="hdf5/file-lock",severity="error"} 0.6`,
		`pipetune_watching{job_name="train.py"} 1`,
		"# HELP pipetune_batches_per_second " + metric.BatchesPerS.Help,
		"# TYPE pipetune_batches_total counter",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("lacks %s", want)
		}
	}
	for _, not := range []string{"NaN", `input_wait_ratio{job_name="train.py"}`,
		`input_wait_ratio{job_name="train.py",rank="1"}`} {
		if strings.Contains(got, not) {
			t.Errorf("holds %s:\n%s", not, got)
		}
	}
	e.End(nil)
	if got := text(t, e); !strings.Contains(got, "pipetune_watching{job_name=\"train.py\"} 0") ||
		strings.Contains(got, "gpu_utilization") || !strings.Contains(got, "pipetune_verdict_info") {
		t.Errorf("after the end:\n%s", got)
	}
}

// TestNamesAreOfPrometheus: each signal has a name of its own with its base unit written out, and none is both.
func TestNamesAreOfPrometheus(t *testing.T) {
	word := regexp.MustCompile(`^[a-z][a-z0-9_]*[a-z0-9]$`)
	of := map[string]string{}
	for _, d := range metric.All() {
		names := []string{Name(d)}
		if slices.Contains([]metric.Unit{metric.Ratio, metric.PerSecond, metric.BytesPerS, metric.Cores}, d.Unit) {
			names = append(names, TotalName(d)) // others do not add up
		}
		for _, name := range names {
			if !word.MatchString(name) || strings.HasSuffix(name, "_s") || strings.HasSuffix(name, "_s_total") {
				t.Errorf("%s is offered as %s", d.Name, name)
			}
			if other, taken := of[name]; taken && other != d.Name {
				t.Errorf("%s is offered as %s, as is %s", d.Name, name, other)
			}
			of[name] = d.Name
		}
	}
}

// TestTextOfForeignNames: what stands in a script's or a device's name ends no label, no line and no text.
func TestTextOfForeignNames(t *testing.T) {
	e := New("1")
	e.Job("a\"b\\c\nd\xff.py")
	const want = "pipetune_watching{job_name=\"a\\\"b\\\\c\\nd\uFFFD.py\"} 1\n"
	if got := text(t, e); !strings.Contains(got, want) {
		t.Errorf("lacks %s\n%s", want, got)
	}
}

// TestOTLP: what is sent is a message of OpenTelemetry's own definition, with every series of a scrape.
func TestOTLP(t *testing.T) {
	e := New("1.2.3")
	e.Job("a\xff.py")
	e.Frame(frame())
	began := time.Unix(100, 0)
	sent := must.Get(e.OTLP([]otlp.Attribute{{Name: "deployment", Value: "lab"}, {Name: "service.name", Value: "mine"}},
		began, began.Add(90*time.Second)))(t)
	var got metricspb.MetricsData               // of the same fields as a request
	must.Do(t, protojson.Unmarshal(sent, &got)) // it refuses fields that it does not know
	if len(got.ResourceMetrics) != 1 || len(got.ResourceMetrics[0].ScopeMetrics) != 1 {
		t.Fatalf("%s", sent)
	}
	var resource []string
	for _, a := range got.ResourceMetrics[0].Resource.Attributes {
		resource = append(resource, a.Key+"="+a.Value.GetStringValue())
	}
	if diff := cmp.Diff([]string{"service.name=mine", "deployment=lab"}, resource); diff != "" {
		t.Error(diff)
	}
	var lines []string
	for _, m := range got.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		points := m.GetGauge().GetDataPoints()
		if sum := m.GetSum(); sum != nil {
			points = sum.DataPoints
			if !sum.IsMonotonic || sum.AggregationTemporality.String() != "AGGREGATION_TEMPORALITY_CUMULATIVE" ||
				points[0].StartTimeUnixNano != uint64(began.UnixNano()) {
				t.Errorf("%v", sum)
			}
		}
		for _, p := range points {
			var labels []label
			for _, a := range p.Attributes {
				labels = append(labels, label{a.Key, a.Value.GetStringValue()})
			}
			lines = append(lines, m.Name+written(labels)+" "+strconv.FormatFloat(p.GetAsDouble(), 'g', -1, 64))
		}
	}
	var scraped []string
	for line := range strings.Lines(text(t, e)) {
		if !strings.HasPrefix(line, "#") {
			scraped = append(scraped, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff(scraped, lines); diff != "" {
		t.Errorf("-scraped +sent:\n%s", diff)
	}
}
