package exporter

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/otlp"
)

// The messages of OpenTelemetry's protocol in JSON (opentelemetry-proto, metrics/v1): numbers of 64 bits are strings.
type (
	otlpRequest struct {
		ResourceMetrics []otlpResourceMetrics `json:"resourceMetrics"`
	}
	otlpResourceMetrics struct {
		Resource     otlpResource       `json:"resource"`
		ScopeMetrics []otlpScopeMetrics `json:"scopeMetrics"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScopeMetrics struct {
		Scope   otlpScope    `json:"scope"`
		Metrics []otlpMetric `json:"metrics"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	otlpMetric struct {
		Name        string    `json:"name"`
		Description string    `json:"description"`
		Gauge       *otlpData `json:"gauge,omitempty"`
		Sum         *otlpData `json:"sum,omitempty"`
	}
	otlpData struct {
		DataPoints             []otlpPoint `json:"dataPoints"`
		AggregationTemporality int         `json:"aggregationTemporality,omitempty"`
		IsMonotonic            bool        `json:"isMonotonic,omitempty"`
	}
	otlpPoint struct {
		Attributes        []otlpAttribute `json:"attributes,omitempty"`
		StartTimeUnixNano string          `json:"startTimeUnixNano,omitempty"`
		TimeUnixNano      string          `json:"timeUnixNano"`
		AsDouble          float64         `json:"asDouble"`
	}
	otlpAttribute struct {
		Key   string `json:"key"`
		Value struct {
			StringValue string `json:"stringValue"`
		} `json:"value"`
	}
)

const cumulative = 2 // AGGREGATION_TEMPORALITY_CUMULATIVE

// OTLP is what is offered as an export of OpenTelemetry's protocol, in JSON. Names are those of the text format, whole
// with their units: who brings them to Prometheus gets the names that a scrape gives, and the same dashboard. began is
// when the watch did.
func (e *Exporter) OTLP(resource []otlp.Attribute, began, now time.Time) ([]byte, error) {
	c := e.collect()
	out := otlpScopeMetrics{Scope: otlpScope{"pipetune", e.version}}
	for _, name := range slices.Sorted(maps.Keys(c.families)) {
		f, data := c.families[name], otlpData{}
		for _, labels := range slices.Sorted(maps.Keys(f.values)) {
			v := f.values[labels]
			p := otlpPoint{TimeUnixNano: nanoseconds(now), AsDouble: v.is}
			for _, l := range v.labels {
				p.Attributes = append(p.Attributes, attribute(l.name, l.value))
			}
			if f.kind == counter {
				p.StartTimeUnixNano = nanoseconds(began)
			}
			data.DataPoints = append(data.DataPoints, p)
		}
		m := otlpMetric{Name: "pipetune_" + name, Description: f.help, Gauge: &data}
		if f.kind == counter {
			data.AggregationTemporality, data.IsMonotonic = cumulative, true
			m.Gauge, m.Sum = nil, &data
		}
		out.Metrics = append(out.Metrics, m)
	}
	return json.Marshal(otlpRequest{[]otlpResourceMetrics{{describes(resource), []otlpScopeMetrics{out}}}})
}

// describes is what sends: the service is pipetune, unless it is given another name.
func describes(resource []otlp.Attribute) (out otlpResource) {
	at := map[string]int{}
	for _, a := range append([]otlp.Attribute{{Name: "service.name", Value: "pipetune"}}, resource...) {
		if i, known := at[a.Name]; known {
			out.Attributes[i] = attribute(a.Name, a.Value)
			continue
		}
		at[a.Name] = len(out.Attributes)
		out.Attributes = append(out.Attributes, attribute(a.Name, a.Value))
	}
	return out
}

func attribute(name, value string) otlpAttribute {
	a := otlpAttribute{Key: name}
	a.Value.StringValue = strings.ToValidUTF8(value, "\uFFFD")
	return a
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
