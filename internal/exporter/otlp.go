package exporter

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/otlp"
)

// object is a message of OpenTelemetry's protocol in JSON (opentelemetry-proto, metrics/v1): numbers of 64 bits are
// strings.
type object map[string]any

const cumulative = 2 // AGGREGATION_TEMPORALITY_CUMULATIVE

// OTLP is what is offered as an export of OpenTelemetry's protocol, in JSON. Names are those of the text format, whole
// with their units: who brings them to Prometheus gets the names that a scrape gives, and the same dashboard. began is
// when the watch did.
func (e *Exporter) OTLP(resource []otlp.Attribute, began, now time.Time) ([]byte, error) {
	c := e.collect()
	var metrics []object
	for _, name := range slices.Sorted(maps.Keys(c.families)) {
		f := c.families[name]
		var points []object
		for _, labels := range slices.Sorted(maps.Keys(f.values)) {
			v := f.values[labels]
			var attributes []object
			for _, l := range v.labels {
				attributes = append(attributes, attribute(l.name, l.value))
			}
			point := object{"attributes": attributes, "timeUnixNano": nanoseconds(now), "asDouble": v.is}
			if f.kind == counter {
				point["startTimeUnixNano"] = nanoseconds(began)
			}
			points = append(points, point)
		}
		kind, data := "gauge", object{"dataPoints": points}
		if f.kind == counter {
			kind, data["aggregationTemporality"], data["isMonotonic"] = "sum", cumulative, true
		}
		metrics = append(metrics, object{"name": "pipetune_" + name, "description": f.help, kind: data})
	}
	scope := object{"name": "pipetune", "version": e.version}
	return json.Marshal(object{"resourceMetrics": []object{{
		"resource":     object{"attributes": describes(resource)},
		"scopeMetrics": []object{{"scope": scope, "metrics": metrics}},
	}}})
}

// describes is what sends: the service is pipetune, unless it is given another name.
func describes(resource []otlp.Attribute) (attributes []object) {
	at := map[string]int{}
	for _, a := range append([]otlp.Attribute{{Name: "service.name", Value: "pipetune"}}, resource...) {
		if i, known := at[a.Name]; known {
			attributes[i] = attribute(a.Name, a.Value)
			continue
		}
		at[a.Name] = len(attributes)
		attributes = append(attributes, attribute(a.Name, a.Value))
	}
	return attributes
}

func attribute(name, value string) object {
	return object{"key": name, "value": object{"stringValue": strings.ToValidUTF8(value, "\uFFFD")}}
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// Sender sends what a watch sees to a collector, again and again. A nil one sends nothing.
type Sender struct {
	say     func(text string)
	target  *otlp.Target
	from    *Exporter
	began   time.Time
	stop    context.CancelFunc
	ended   chan struct{}
	refused chan string // why an export failed, until it was said
	said    bool
}

// OpenSender begins to send where the environment asks for it. What it asks for may be meant for the job: where that
// cannot be done it is said, and the watch goes on. It is nil where nothing is to be sent.
func OpenSender(getenv func(name string) string, say func(text string), from *Exporter) *Sender {
	target, err := otlp.FromEnvironment(getenv)
	if err != nil {
		say("no metrics are sent to a collector: " + err.Error() +
			"; OTEL_METRICS_EXPORTER=none says that none are to be")
	}
	if target == nil {
		return nil
	}
	say(fmt.Sprintf("metrics are sent to %s every %s, as %s asks", target.Endpoint.Redacted(),
		target.Interval, target.Asked))
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sender{say: say, target: target, from: from, began: time.Now(), stop: cancel, ended: make(chan struct{}),
		refused: make(chan string, 1)}
	go s.run(ctx)
	return s
}

// run sends until it is stopped, and then once more: what the watch came to.
func (s *Sender) run(ctx context.Context) {
	defer close(s.ended)
	every := time.NewTicker(s.target.Interval)
	defer every.Stop()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-every.C:
		}
		if err := s.send(ctx, over); err != nil && (over || ctx.Err() == nil) {
			select {
			case s.refused <- fmt.Sprintf("metrics were not sent to %s: %v", s.target.Endpoint.Redacted(), err):
			default: // it was said already, or will be
			}
		}
	}
}

// send makes one export. The last one may take no longer than the end waits for a scrape.
func (s *Sender) send(ctx context.Context, last bool) error {
	if last {
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
		defer cancel()
		ctx = patient
	}
	body, err := s.from.OTLP(s.target.Resource, s.began, time.Now())
	if err != nil {
		return err
	}
	return s.target.Post(ctx, body)
}

// Complain says once that exports fail, from the goroutine that may write.
func (s *Sender) Complain() {
	if s == nil || s.said {
		return
	}
	select {
	case why := <-s.refused:
		s.say(why + "; they are sent on, and this is not said again")
		s.said = true
	default:
	}
}

// Close sends what the watch came to; an export under way is given up. A job that has ended is not held by a collector.
func (s *Sender) Close() {
	if s == nil {
		return
	}
	s.stop()
	<-s.ended
	s.Complain()
}
