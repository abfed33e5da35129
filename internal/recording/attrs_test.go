package recording

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRowsAreAttributesAndBack(t *testing.T) {
	for name, c := range map[string]struct {
		row  any
		into any
		want map[string]string
	}{
		"hook": {Hook{State: "loaded", SyncPoints: new(false), Rank: new(0)}, new(Hook),
			map[string]string{"state": "loaded", "sync_points": "0", "rank": "0"}},
		"loader": {Loader{Class: "a,b", NumWorkers: new(0), PinMemory: new(true), Timeout: new(0.5),
			Given: []string{"x", "y"}}, new(Loader),
			map[string]string{"class": "a,b", "num_workers": "0", "pin_memory": "1", "timeout": "0.5",
				"iterable": "0", "given": "x,y"}},
		"epoch": {Epoch{Number: 7, Begun: -0.25, Drain: new(1e-9), Grad: true, Each: 10}, new(Epoch),
			map[string]string{"epoch": "7", "begun_s": "-0.250000000", "create_s": "0.000000000",
				"drain_s": "0.000000001", "steps": "0",
				"wait_s": "0.000000000", "wall_s": "0.000000000", "workers_born": "0", "grad": "1", "each": "10"}},
		"site": {Site{Kind: "open"}, new(Site), map[string]string{"kind": "open", "what": "", "file": "",
			"line": "0", "function": ""}},
		"slow item": {SlowItem{Index: -3, Seconds: 0.5, Times: 2}, new(SlowItem), map[string]string{"index": "-3",
			"seconds": "0.500000", "times": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Attrs(c.row)); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			Event{Attrs: c.want}.Into(c.into)
			if diff := cmp.Diff(c.want, Attrs(reflect.ValueOf(c.into).Elem().Interface())); diff != "" {
				t.Errorf("back again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAttributesThatAreNoneLeaveTheRowAsItIs(t *testing.T) {
	for name, bad := range map[string]string{"num_workers": "-2", "batch_size": "1e3",
		"items": "99999999999999999999", "timeout": "NaN", "line": "x",
		"persistent_workers": "perhaps", "prefetch_factor": ""} {
		row := Loader{NumWorkers: new(4), BatchSize: new(32), Line: 88}
		before := Attrs(row)
		Event{Attrs: map[string]string{name: bad, "unknown": "1"}}.Into(&row)
		if diff := cmp.Diff(before, Attrs(row)); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", name, bad, diff)
		}
	}
	for _, bad := range []string{"+Inf", "-1e25", "-1"} {
		var row Epoch
		Event{Attrs: map[string]string{"create_s": bad}}.Into(&row)
		if row.Create != 0 {
			t.Errorf("%s s in iter()", bad)
		}
	}
}

func TestALaterEventAddsToAnEarlierOne(t *testing.T) {
	rec := &Recording{Events: []Event{
		{Kind: EventHook, Entity: "process/7.1", Attrs: map[string]string{"state": "loaded", "torch": "2.6.0"}},
		{Kind: EventLoader, Entity: "process/7.1", Attrs: map[string]string{"state": "none"}},
		{Kind: EventHook, Entity: "process/7.1", Attrs: map[string]string{"state": "off", "reason": "x"}},
		{Kind: EventHook, Entity: "process/8.1"},
	}}
	want := map[string]Hook{"process/7.1": {State: "off", Torch: "2.6.0", Reason: "x"}, "process/8.1": {}}
	if diff := cmp.Diff(want, Rows[Hook](rec, EventHook)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzInto holds that no attribute makes a row that writes another one than it reads.
func FuzzInto(f *testing.F) {
	for _, s := range []string{"", "0", "1", "-1", "1.5", "1e999", "NaN", "-Inf", "true", "a,b", ",", "0x1p-2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, row := range []any{new(Hook), new(Loader), new(Epoch), new(Site), new(SlowItem)} {
			attrs := Attrs(reflect.ValueOf(row).Elem().Interface())
			for _, name := range []string{"state", "rank", "num_workers", "pin_memory", "timeout", "given", "begun_s",
				"drain_s", "line", "index"} {
				attrs[name] = s
			}
			Event{Attrs: attrs}.Into(row)
			once := Attrs(reflect.ValueOf(row).Elem().Interface())
			Event{Attrs: once}.Into(row)
			if diff := cmp.Diff(once, Attrs(reflect.ValueOf(row).Elem().Interface())); diff != "" {
				t.Error(diff)
			}
		}
	})
}
