package hook

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// total is one running total of a message and the signal it becomes.
type total struct {
	field   int // in its struct
	desc    metric.Desc
	per     float64 // of the field for one of the signal: 1e9 for times, which signals have in seconds
	unknown bool    // 0 says that it was not counted, and is not recorded
}

var stepSignals, workSignals = totalsOf(stepTotals{}), totalsOf(workTotals{})

// totalsOf lists the fields of a struct that are signals.
func totalsOf(row any) (out []total) {
	for i := range reflect.TypeOf(row).NumField() {
		f := reflect.TypeOf(row).Field(i)
		per := 1.0
		if f.Type == reflect.TypeFor[time.Duration]() {
			per = 1e9
		}
		if k := slices.IndexFunc(metric.Hook,
			func(d metric.Desc) bool { return d.Name == f.Tag.Get("signal") }); k >= 0 {
			out = append(out, total{i, metric.Hook[k], per, strings.HasSuffix(f.Tag.Get("json"), ",omitempty")})
		}
	}
	return out
}

// record records all totals of a row, which is a pointer to its struct.
func record(sink recording.Sink, entity string, signals []total, row any) {
	for _, s := range signals {
		if x := reflect.ValueOf(row).Elem().Field(s.field).Int(); x != 0 || !s.unknown {
			sink.Add(s.desc, entity, float64(x)/s.per)
		}
	}
}

// shrinks says whether a counter of a row is below what was reported before; both are pointers to one struct.
func shrinks(signals []total, row, before any) bool {
	now, then := reflect.ValueOf(row).Elem(), reflect.ValueOf(before).Elem()
	return slices.ContainsFunc(signals, func(s total) bool {
		return s.desc.Kind == metric.Counter && now.Field(s.field).Int() < then.Field(s.field).Int()
	})
}

// accumulate adds to sum what a process did since it reported before.
func (sum *workTotals) accumulate(now, before workTotals) {
	to, n, b := reflect.ValueOf(sum).Elem(), reflect.ValueOf(now), reflect.ValueOf(before)
	for _, s := range workSignals {
		to.Field(s.field).SetInt(plus(to.Field(s.field).Int(), n.Field(s.field).Int()-b.Field(s.field).Int()))
	}
}

// plus adds without overflow: sums of hostile totals stop at the greatest number.
func plus[T ~int64](a, b T) T {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// product multiplies without overflow; neither factor is negative.
func product(a, b int64) int64 {
	if a != 0 && b > (1<<63-1)/a {
		return 1<<63 - 1
	}
	return a * b
}

// seconds rounds once: the Seconds of time.Duration adds two rounded parts.
func seconds(d time.Duration) float64 { return float64(d) / 1e9 }
