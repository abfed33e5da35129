// Package otlp sends metrics to a collector by OpenTelemetry's protocol, as JSON over plain HTTP, where the standard
// variables of the environment ask for it (opentelemetry.io/docs/specs/otel/protocol/exporter).
//
// OpenTelemetry's own SDK would do that too, and bring net/http, TLS and protobuf along, some 6 MB of a program whose
// every child maps them. What is left out with them is said where a variable asks for it: gRPC, TLS and compression,
// which a collector on the same machine, the usual place for one, does not need.
package otlp

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The defaults of the specification.
const (
	defaultEndpoint = "http://localhost:4318"
	metricsPath     = "/v1/metrics"
	defaultTimeout  = 10 * time.Second
	defaultInterval = time.Minute
)

// Target is where to send, and as whom.
type Target struct {
	Endpoint *url.URL
	Asked    string // the variable that names it
	Headers  []Attribute
	Timeout  time.Duration // of one export
	Interval time.Duration // between two
	Resource []Attribute   // of OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME
}

// Attribute is a name with its value.
type Attribute struct{ Name, Value string }

// FromEnvironment is the target that the standard variables name; nil: they ask for none. An error says what they ask
// for that cannot be done, and how to ask for what can.
func FromEnvironment(getenv func(string) string) (*Target, error) {
	chosen := slices.ContainsFunc(strings.Split(cmp.Or(getenv("OTEL_METRICS_EXPORTER"), "otlp"), ","),
		func(exporter string) bool { return strings.TrimSpace(exporter) == "otlp" })
	if !chosen || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	t := &Target{}
	endpoint := ""
	for _, name := range []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_METRICS_EXPORTER"} {
		if endpoint = getenv(name); endpoint != "" {
			t.Asked = name
			break
		}
	}
	switch t.Asked {
	case "":
		return nil, nil
	case "OTEL_METRICS_EXPORTER":
		endpoint = defaultEndpoint
	}
	if p := of(getenv, "PROTOCOL"); p != "" && p != "http/json" && p != "http/protobuf" {
		return nil, fmt.Errorf("the protocol is to be %s, and pipetune speaks JSON over HTTP alone: set "+
			"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/json, and OTEL_EXPORTER_OTLP_METRICS_ENDPOINT to the "+
			"collector's port for HTTP, 4318 as a rule", p)
	}
	var err error
	if t.Endpoint, err = url.Parse(endpoint); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Asked, err)
	}
	if t.Endpoint.Scheme != "http" || t.Endpoint.Hostname() == "" {
		return nil, fmt.Errorf("%s=%s: pipetune sends to http://HOST:PORT alone; a collector on this machine takes it "+
			"there and passes it on encrypted", t.Asked, t.Endpoint.Redacted())
	}
	if t.Asked != "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT" { // which is taken as it is
		t.Endpoint = t.Endpoint.JoinPath(metricsPath)
	}
	if t.Headers, err = pairs(of(getenv, "HEADERS")); err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w", err)
	}
	if t.Resource, err = pairs(getenv("OTEL_RESOURCE_ATTRIBUTES")); err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if name := getenv("OTEL_SERVICE_NAME"); name != "" {
		t.Resource = append(t.Resource, Attribute{"service.name", name}) // it comes before the other
	}
	if t.Timeout, err = milliseconds(of(getenv, "TIMEOUT"), defaultTimeout); err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT: %w", err)
	}
	if t.Interval, err = milliseconds(getenv("OTEL_METRIC_EXPORT_INTERVAL"), defaultInterval); err != nil {
		return nil, fmt.Errorf("OTEL_METRIC_EXPORT_INTERVAL: %w", err)
	}
	return t, nil
}

// of is the value of a variable that may be for metrics alone.
func of(getenv func(string) string, what string) string {
	return cmp.Or(getenv("OTEL_EXPORTER_OTLP_METRICS_"+what), getenv("OTEL_EXPORTER_OTLP_"+what))
}

// pairs reads "a=1,b=2", values percent-encoded as in W3C's baggage.
func pairs(list string) ([]Attribute, error) {
	var all []Attribute
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n") {
			return nil, fmt.Errorf("not a list of name=value, with commas between: an entry near %.20q", name)
		}
		all = append(all, Attribute{name, value})
	}
	return all, nil
}

func milliseconds(text string, otherwise time.Duration) (time.Duration, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > int(24*time.Hour/time.Millisecond) {
		return 0, fmt.Errorf("%q is no number of milliseconds up to a day", text)
	}
	return time.Duration(n) * time.Millisecond, nil
}
