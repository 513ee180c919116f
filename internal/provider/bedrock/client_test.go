package bedrock

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/provider"
)

// served is a provider's client in front of a server that answers with a recorded stream and keeps what it was asked.
func served(t *testing.T, o Options, keys ...provider.Credential) (*provider.Client, *arrived) {
	t.Helper()
	stream, err := os.ReadFile("testdata/text-stream-nova-micro.eventstream")
	if err != nil {
		t.Fatal(err)
	}
	a := &arrived{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		*a = arrived{method: r.Method, target: r.RequestURI, host: r.Host, header: r.Header, body: all}
		w.Header().Set("Content-Type", eventStream)
		_, _ = w.Write(stream)
	}))
	t.Cleanup(server.Close)
	v, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := provider.New(provider.Options{Name: "bedrock", BaseURL: u, Vendor: v, Credentials: keys}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, a
}

func ask(t *testing.T, c *provider.Client) *http.Response {
	t.Helper()
	resp, f := c.Send(t.Context(), &attempt.Outgoing{
		Dialect: converse, Model: "us.amazon.nova-micro-v1:0", Stream: true, Translated: true, Credential: "default", Body: []byte(`{"messages":[]}`),
		Header:  http.Header{"Authorization": {"Bearer theirs"}, "Anthropic-Beta": {"claude-code-20250219"}, "Accept": {"text/event-stream"}},
		Release: func() {},
	})
	if f != nil {
		t.Fatal(f)
	}
	return resp
}

// The whole way through a provider's client: what arrives is signed, what comes back is a stream of server-sent events.
func TestThroughClient(t *testing.T) {
	t.Parallel()
	c, a := served(t, Options{Region: "eu-central-1", AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "shh"}, provider.Credential{Name: "default"})
	for range 2 { // the second request shares the first one's template
		resp := ask(t, c)
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		want, wantErr := os.ReadFile("testdata/text-stream-nova-micro.sse")
		if err != nil || wantErr != nil || string(got) != string(want) || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%v, %v, %v\n%s", err, wantErr, resp.Header, got)
		}
		if a.target != "/model/us.amazon.nova-micro-v1%3A0/converse-stream" || a.header.Get("Anthropic-Beta") != "" || a.header.Get("Accept") != "" {
			t.Errorf("%s %v", a.target, a.header)
		}
		check(t, a, "shh", "")
	}
}

// Bedrock's own keys are sent as any other.
func TestBearer(t *testing.T) {
	t.Parallel()
	c, a := served(t, Options{Bearer: true}, provider.Credential{Name: "default", Value: "bedrock-key"})
	resp := ask(t, c)
	_ = resp.Body.Close()
	if a.header.Get("Authorization") != "Bearer bedrock-key" || a.header.Get("X-Amz-Date") != "" {
		t.Errorf("%v", a.header)
	}
}

// Without credentials the attempt is over at once, and the key at fault, not the provider.
func TestNoCredentials(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	c, a := served(t, Options{Region: "us-east-1"}, provider.Credential{Name: "default"})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	resp, f := c.Send(ctx, &attempt.Outgoing{Dialect: converse, Model: "m", Credential: "default", Body: []byte("{}"), Release: func() {}})
	if f == nil {
		_ = resp.Body.Close()
		t.Fatal("it was sent")
	}
	if f.Class != fault.Auth || !strings.Contains(f.Message, "no AWS credentials") || a.target != "" {
		t.Errorf("%v, %q", f, a.target)
	}
}
