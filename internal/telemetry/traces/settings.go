package traces

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Protocol is how OTLP is spoken.
type Protocol string

// The protocols of OTLP.
const (
	HTTPProtobuf Protocol = "http/protobuf"
	HTTPJSON     Protocol = "http/json"
	GRPC         Protocol = "grpc"
)

// Settings are what the OTEL_ variables say of traces, checked.
type Settings struct {
	Endpoint *url.URL // whole: what spans are posted to
	Protocol Protocol
	Header   http.Header   // sent with each batch; values may be credentials
	Timeout  time.Duration // of one try
	Gzip     bool
	TLS      *tls.Config // nil: the system's
	// Resource describes this process; ServiceName is one of them.
	Resource []Pair
	Delay    time.Duration // a batch waits so long to be filled
	Batch    int           // traces in one
	Queue    int           // traces that wait

	sampler sampler
}

// Pair is one attribute of the resource.
type Pair struct{ Key, Value string }

// environment reads OTEL_ variables, and gathers what is wrong with them.
type environment struct {
	lookup func(string) (string, bool)
	wrong  []error
}

// FromEnvironment reads the OTEL_ variables; nil: traces are off. The error names each variable that is wrong, and never
// shows a value that may be a credential.
func FromEnvironment(lookup func(string) (string, bool)) (*Settings, error) {
	e := &environment{lookup: lookup}
	on := e.on()
	if !on {
		return nil, errors.Join(e.wrong...)
	}
	s := &Settings{Timeout: e.millis("OTLP_TIMEOUT", 10*time.Second), Gzip: e.gzip(), Protocol: e.protocol(), Header: e.header()}
	s.Endpoint = e.endpoint(s.Protocol)
	s.TLS = e.tls()
	s.Resource = e.resource()
	s.Delay = e.milliseconds("OTEL_BSP_SCHEDULE_DELAY", 5*time.Second)
	s.Queue = e.count("OTEL_BSP_MAX_QUEUE_SIZE", 2048)
	s.Batch = min(e.count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512), s.Queue)
	var err error
	if s.sampler, err = samplerNamed(e.get("OTEL_TRACES_SAMPLER"), e.get("OTEL_TRACES_SAMPLER_ARG")); err != nil {
		e.wrong = append(e.wrong, err)
	}
	if len(e.wrong) > 0 {
		return nil, errors.Join(e.wrong...)
	}
	return s, nil
}

// on says whether spans are wanted: an endpoint is set, or the exporter is asked for by name.
func (e *environment) on() bool {
	switch off := e.get("OTEL_SDK_DISABLED"); strings.ToLower(off) {
	case "", "false":
	case "true":
		return false
	default:
		e.fault("OTEL_SDK_DISABLED", "%q is neither true nor false", off)
	}
	switch exporter := e.get("OTEL_TRACES_EXPORTER"); exporter {
	case "none":
		return false
	case "otlp":
		return true
	case "":
		return e.get("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || e.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	default:
		e.fault("OTEL_TRACES_EXPORTER", "%q is not supported; use otlp or none", exporter)
		return false
	}
}

// get is a variable's value; one that is empty counts as none.
func (e *environment) get(name string) string {
	v, ok := e.lookup(name)
	if !ok {
		return ""
	}
	return strings.TrimSpace(v)
}

func (e *environment) fault(name, format string, args ...any) {
	e.wrong = append(e.wrong, fmt.Errorf(name+": "+format, args...))
}

// otlp is a setting of the exporter and the variable that it is from: that of traces alone counts before that of all signals.
func (e *environment) otlp(name string) (variable, value string) {
	own := "OTEL_EXPORTER_OTLP_TRACES_" + strings.TrimPrefix(name, "OTLP_")
	if v := e.get(own); v != "" {
		return own, v
	}
	return "OTEL_EXPORTER_" + name, e.get("OTEL_EXPORTER_" + name)
}

func (e *environment) protocol() Protocol {
	name, v := e.otlp("OTLP_PROTOCOL")
	switch p := Protocol(v); p {
	case "":
		return HTTPProtobuf
	case HTTPProtobuf, HTTPJSON, GRPC:
		return p
	}
	e.fault(name, "%q is not known; use http/protobuf, http/json or grpc", v)
	return HTTPProtobuf
}

// endpoint is where spans go. The variable of all signals is a base, to which HTTP adds its path; that of traces is whole.
func (e *environment) endpoint(p Protocol) *url.URL {
	name, v := e.otlp("OTLP_ENDPOINT")
	if v == "" {
		name, v = "OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"
		if p == GRPC {
			v = "http://localhost:4317"
		}
	}
	if _, _, err := net.SplitHostPort(v); err == nil && p == GRPC && !strings.Contains(v, "://") { // as gRPC's own clients have it
		scheme := "https://"
		if _, insecure := e.otlp("OTLP_INSECURE"); strings.EqualFold(insecure, "true") {
			scheme = "http://"
		}
		v = scheme + v
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		e.fault(name, "the value is no URL like http://collector:4318") // it may hold a password
		return &url.URL{}
	}
	u.Fragment = ""
	switch {
	case p == GRPC:
		u.Path, u.RawPath, u.RawQuery = grpcPath, "", ""
	case name == "OTEL_EXPORTER_OTLP_ENDPOINT":
		u = u.JoinPath("v1/traces")
	case u.Path == "":
		u.Path = "/"
	}
	return u
}

func (e *environment) gzip() bool {
	name, v := e.otlp("OTLP_COMPRESSION")
	switch v {
	case "", "none":
		return false
	case "gzip":
		return true
	}
	e.fault(name, "%q is not known; use gzip or none", v)
	return false
}

func (e *environment) header() http.Header {
	name, v := e.otlp("OTLP_HEADERS")
	h := http.Header{}
	for _, p := range e.pairs(name, v) {
		if !httpguts.ValidHeaderFieldName(p.Key) || !httpguts.ValidHeaderFieldValue(p.Value) {
			e.fault(name, "there is a name or a value in it that no header can have")
			continue
		}
		h.Set(p.Key, p.Value)
	}
	return h
}

// pairs reads key=value,key=value with percent-encoded values.
func (e *environment) pairs(name, v string) []Pair {
	var out []Pair
	for part := range strings.SplitSeq(v, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		plain, err := url.PathUnescape(value)
		if !ok || key == "" || err != nil {
			e.fault(name, "write key=value pairs with commas between them, and percent-encode other signs")
			return nil
		}
		out = append(out, Pair{key, plain})
	}
	return out
}

// resource is what describes this process, but for what the program knows itself.
func (e *environment) resource() []Pair {
	service := e.get("OTEL_SERVICE_NAME")
	out := []Pair{{"service.name", service}}
	for _, p := range e.pairs("OTEL_RESOURCE_ATTRIBUTES", e.get("OTEL_RESOURCE_ATTRIBUTES")) {
		if p.Key == "service.name" {
			out[0].Value = cmp.Or(service, p.Value)
			continue
		}
		out = append(out, p)
	}
	out[0].Value = cmp.Or(out[0].Value, "evergate")
	return out
}

// tls reads the files of certificates.
func (e *environment) tls() *tls.Config {
	ca, caFile := e.otlp("OTLP_CERTIFICATE")
	_, certFile := e.otlp("OTLP_CLIENT_CERTIFICATE")
	keyName, keyFile := e.otlp("OTLP_CLIENT_KEY")
	if caFile == "" && certFile == "" && keyFile == "" {
		return nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		pem, err := os.ReadFile(caFile) //nolint:gosec // the operator's own file
		if err != nil {
			e.fault(ca, "%w", err)
		} else if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			e.fault(ca, "%s holds no certificate in PEM", caFile)
		}
	}
	if certFile != "" || keyFile != "" {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			e.fault(keyName, "the certificate and key of the client do not load: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

func (e *environment) millis(name string, usual time.Duration) time.Duration {
	variable, v := e.otlp(name)
	return e.duration(variable, v, usual)
}

func (e *environment) milliseconds(name string, usual time.Duration) time.Duration {
	return e.duration(name, e.get(name), usual)
}

func (e *environment) duration(name, v string, usual time.Duration) time.Duration {
	if v == "" {
		return usual
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n <= 0 {
		e.fault(name, "%q is no number of milliseconds above 0", v)
		return usual
	}
	return time.Duration(n) * time.Millisecond
}

func (e *environment) count(name string, usual int) int {
	v := e.get(name)
	if v == "" {
		return usual
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1<<20 {
		e.fault(name, "%q is no number from 1 to %d", v, 1<<20)
		return usual
	}
	return n
}
