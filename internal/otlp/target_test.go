package otlp

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

func environment(list string) func(string) string {
	values := map[string]string{}
	for line := range strings.Lines(list) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values["OTEL_"+name] = value
	}
	return func(name string) string { return values[name] }
}

func TestEndpointOfTheEnvironment(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"", ""},
		{"METRICS_EXPORTER=none", ""},
		{"METRICS_EXPORTER=otlp", "http://localhost:4318/v1/metrics"},
		{"METRICS_EXPORTER=console\nEXPORTER_OTLP_ENDPOINT=http://a:1", ""},
		{"METRICS_EXPORTER=console, otlp\nEXPORTER_OTLP_ENDPOINT=http://a:1", "http://a:1/v1/metrics"},
		{"SDK_DISABLED=true\nEXPORTER_OTLP_ENDPOINT=http://a:1", ""},
		{"EXPORTER_OTLP_ENDPOINT=http://a:1", "http://a:1/v1/metrics"},
		{"EXPORTER_OTLP_ENDPOINT=http://a:1/base/", "http://a:1/base/v1/metrics"},
		{"EXPORTER_OTLP_METRICS_ENDPOINT=http://a:1/x?y=z\nEXPORTER_OTLP_ENDPOINT=http://b", "http://a:1/x?y=z"},
		{"EXPORTER_OTLP_ENDPOINT=http://[::1]:4318\nEXPORTER_OTLP_PROTOCOL=http/protobuf",
			"http://[::1]:4318/v1/metrics"},
		{"EXPORTER_OTLP_ENDPOINT=http://a\nEXPORTER_OTLP_PROTOCOL=grpc\nEXPORTER_OTLP_METRICS_PROTOCOL=http/json",
			"http://a/v1/metrics"},
	} {
		got, err := FromEnvironment(environment(c.list))
		if err != nil || got == nil && c.want != "" || got != nil && got.Endpoint.String() != c.want {
			t.Errorf("%q: %+v, %v; want %q", c.list, got, err, c.want)
		}
	}
}

func TestSettingsOfTheEnvironment(t *testing.T) {
	got := must.Get(FromEnvironment(environment(`EXPORTER_OTLP_ENDPOINT=http://a
		EXPORTER_OTLP_HEADERS=x-key=a%20b, x-other=
		RESOURCE_ATTRIBUTES=service.name=two,deployment=lab
		SERVICE_NAME=one
		EXPORTER_OTLP_TIMEOUT=3000
		EXPORTER_OTLP_METRICS_TIMEOUT=2000
		METRIC_EXPORT_INTERVAL=15000`)))(t)
	want := &Target{Endpoint: got.Endpoint, Asked: "OTEL_EXPORTER_OTLP_ENDPOINT", Timeout: 2 * time.Second,
		Interval: 15 * time.Second, Headers: []Attribute{{"x-key", "a b"}, {"x-other", ""}},
		Resource: []Attribute{{"service.name", "two"}, {"deployment", "lab"}, {"service.name", "one"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What cannot be done is said with the variable that asks for it, and no password of an address is.
func TestWhatTheEnvironmentAsksInVain(t *testing.T) {
	for list, says := range map[string]string{
		"EXPORTER_OTLP_PROTOCOL=grpc":                    "PROTOCOL=http/json",
		"EXPORTER_OTLP_ENDPOINT=https://u:secret@a":      "https://u:xxxxx@a",
		"EXPORTER_OTLP_ENDPOINT=localhost:4318":          "http://HOST:PORT",
		"EXPORTER_OTLP_ENDPOINT=http://":                 "http://HOST:PORT",
		"EXPORTER_OTLP_ENDPOINT=http://a b":              "ENDPOINT",
		"EXPORTER_OTLP_HEADERS=x":                        "HEADERS",
		"EXPORTER_OTLP_HEADERS=x=%0d%0aInjected: header": "HEADERS",
		"EXPORTER_OTLP_HEADERS==x":                       "HEADERS",
		"RESOURCE_ATTRIBUTES=x=%zz":                      "ATTRIBUTES",
		"EXPORTER_OTLP_TIMEOUT=soon":                     "TIMEOUT",
		"METRIC_EXPORT_INTERVAL=0":                       "INTERVAL",
		"METRIC_EXPORT_INTERVAL=99999999999999999999999": "INTERVAL",
	} {
		got, err := FromEnvironment(environment("METRICS_EXPORTER=otlp\n" + list))
		if got != nil || err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %+v, %v; want %q", list, got, err, says)
		}
	}
}
