package traces

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// environ is an environment of NAME=value, with the endpoint set unless it says otherwise.
func environ(vars ...string) func(string) (string, bool) {
	all := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		all[name] = value
	}
	return func(name string) (string, bool) { v, ok := all[name]; return v, ok }
}

func TestOffAndOn(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		vars []string
		on   bool
	}{
		{"no endpoint", []string{"OTEL_EXPORTER_OTLP_ENDPOINT="}, false},
		{"an endpoint", nil, true},
		{"an endpoint of traces alone", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c/"}, true},
		{"an endpoint of metrics alone", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://c/"}, false},
		{"asked for by name", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=", "OTEL_TRACES_EXPORTER=otlp"}, true},
		{"exporter none", []string{"OTEL_TRACES_EXPORTER=none"}, false},
		{"disabled", []string{"OTEL_SDK_DISABLED=TRUE"}, false},
		{"not disabled", []string{"OTEL_SDK_DISABLED=false"}, true},
		{"nothing else counts when it is off", []string{"OTEL_SDK_DISABLED=true", "OTEL_TRACES_SAMPLER=x"}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := FromEnvironment(environ(c.vars...))
			if err != nil || (s != nil) != c.on {
				t.Errorf("got %v, %v", s, err)
			}
		})
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		vars []string
		want string
	}{
		{"a base", nil, "http://collector:4318/v1/traces"},
		{"a base with a path", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://c.example/otlp/"}, "https://c.example/otlp/v1/traces"},
		{"that of traces is whole", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://t.example/in?tenant=1"}, "https://t.example/in?tenant=1"},
		{"that of traces without a path", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://t.example"}, "https://t.example/"},
		{"the usual one", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=", "OTEL_TRACES_EXPORTER=otlp"}, "http://localhost:4318/v1/traces"},
		{"gRPC", []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4317"}, "http://c:4317" + grpcPath},
		{"gRPC, usual", []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_ENDPOINT=", "OTEL_TRACES_EXPORTER=otlp"}, "http://localhost:4317" + grpcPath},
		{"gRPC without a scheme", []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_ENDPOINT=c:4317"}, "https://c:4317" + grpcPath},
		{"gRPC in clear text", []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_ENDPOINT=c:4317", "OTEL_EXPORTER_OTLP_INSECURE=true"}, "http://c:4317" + grpcPath},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := FromEnvironment(environ(c.vars...))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Endpoint.String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s, err := FromEnvironment(environ("OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b, x-tenant = 7", "OTEL_EXPORTER_OTLP_TIMEOUT=2500", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=1500",
		"OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json", "OTEL_SERVICE_NAME=edge",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=other,team=a%2Cb", "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_BSP_MAX_QUEUE_SIZE=20", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=90"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Header.Get("Api-Key") != "a b" || s.Header.Get("X-Tenant") != "7" || s.Timeout != 1500*time.Millisecond || !s.Gzip || s.Protocol != HTTPJSON ||
		s.Delay != 100*time.Millisecond || s.Queue != 20 || s.Batch != 20 {
		t.Errorf("got %+v", s)
	}
	if len(s.Resource) != 2 || s.Resource[0] != (Pair{"service.name", "edge"}) || s.Resource[1] != (Pair{"team", "a,b"}) {
		t.Errorf("the resource is %v", s.Resource)
	}
}

// A wrong value is refused by the variable's name, and one that may be a secret is not shown.
func TestWrongValues(t *testing.T) {
	t.Parallel()
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{
		"OTEL_SDK_DISABLED=s3cret", "OTEL_TRACES_EXPORTER=zipkin", "OTEL_EXPORTER_OTLP_PROTOCOL=thrift", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://u:s3cret@%zz", "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://c/s3cret",
		"OTEL_EXPORTER_OTLP_HEADERS=s3cret", "OTEL_EXPORTER_OTLP_HEADERS=a b=s3cret", "OTEL_EXPORTER_OTLP_HEADERS=a=s3cret%0d%0ab", "OTEL_EXPORTER_OTLP_HEADERS=a=%zz",
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s", "OTEL_EXPORTER_OTLP_TIMEOUT=0", "OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "OTEL_EXPORTER_OTLP_CERTIFICATE=/no/such/file",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=" + notPEM, "OTEL_EXPORTER_OTLP_CLIENT_KEY=/no/such/file", "OTEL_RESOURCE_ATTRIBUTES=a", "OTEL_TRACES_SAMPLER=jaeger_remote",
		"OTEL_BSP_SCHEDULE_DELAY=-1", "OTEL_BSP_MAX_QUEUE_SIZE=0", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=many",
	} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(v, "=")
			s, err := FromEnvironment(environ(v))
			if err == nil {
				t.Fatalf("taken: %+v", s)
			}
			if !strings.Contains(err.Error(), name+": ") || name != "OTEL_SDK_DISABLED" && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error is %q", err)
			}
		})
	}
	_, err := FromEnvironment(environ("OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=2", "OTEL_EXPORTER_OTLP_TIMEOUT=x"))
	if err == nil || !strings.Contains(err.Error(), "OTEL_TRACES_SAMPLER_ARG") || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_TIMEOUT") {
		t.Errorf("all that is wrong is to be said, not %v", err)
	}
}

func TestSamplers(t *testing.T) {
	t.Parallel()
	yes, no := remote{sampled: true}, remote{}
	cases := []struct {
		name, arg                         string
		alone, withSampled, withUnsampled float64 // share of traces taken
	}{
		{"", "", 1, 1, 0},
		{"always_on", "", 1, 1, 1},
		{"always_off", "", 0, 0, 0},
		{"parentbased_always_on", "", 1, 1, 0},
		{"parentbased_always_off", "", 0, 1, 0},
		{"traceidratio", "0.25", .25, .25, .25},
		{"traceidratio", "", 1, 1, 1},
		{"parentbased_traceidratio", "0.25", .25, 1, 0},
		{"parentbased_traceidratio", "0", 0, 1, 0},
		{"parentbased_traceidratio", "1", 1, 1, 0},
	}
	for _, c := range cases {
		t.Run(c.name+" "+c.arg, func(t *testing.T) {
			t.Parallel()
			s, err := samplerNamed(c.name, c.arg)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range []struct {
				client remote
				known  bool
				want   float64
			}{{no, false, c.alone}, {yes, true, c.withSampled}, {no, true, c.withUnsampled}} {
				const rounds = 20000
				taken := 0
				for range rounds {
					if s.samples(w.client, w.known, newTrace()) {
						taken++
					}
				}
				if got := float64(taken) / rounds; got < w.want-.03 || got > w.want+.03 || (w.want == 0 || w.want == 1) && got != w.want {
					t.Errorf("known %v, sampled %v: %v of all are taken, want %v", w.known, w.client.sampled, got, w.want)
				}
			}
		})
	}
}
