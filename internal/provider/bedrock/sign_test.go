package bedrock

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"evergate/internal/fault"
	"evergate/internal/provider"
)

// arrived is a request as it came over the wire.
type arrived struct {
	method, target, host string
	header               http.Header
	body                 []byte
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// signature is what AWS's description of SigV4 makes of a request: written from the description, to check the signer by.
func signature(a *arrived, secret, scope string, signed []string) string {
	path, query, _ := strings.Cut(a.target, "?")
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = escape(s) // of what was sent, once more
	}
	canonical := a.method + "\n" + strings.Join(segments, "/") + "\n" + query + "\n"
	for _, name := range signed {
		value := a.host
		if name != "host" {
			value = strings.TrimSpace(a.header.Get(name))
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += "\n" + strings.Join(signed, ";") + "\n" + hash(a.body)
	text := "AWS4-HMAC-SHA256\n" + a.header.Get("X-Amz-Date") + "\n" + scope + "\n" + hash([]byte(canonical))
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, text))
}

// The check itself is right: AWS's published example.
func TestSignatureOfTheExample(t *testing.T) {
	t.Parallel()
	a := &arrived{method: "GET", target: "/?Action=ListUsers&Version=2010-05-08", host: "iam.amazonaws.com", header: http.Header{
		"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}, "X-Amz-Date": {"20150830T123600Z"},
	}}
	got := signature(a, "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20150830/us-east-1/iam/aws4_request", []string{"content-type", "host", "x-amz-date"})
	if got != "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7" {
		t.Error(got)
	}
}

// sent authorizes a request, sends it over a real connection and gives what came.
func sent(t *testing.T, v *provider.Vendor, model string, stream bool, body string, header http.Header) *arrived {
	t.Helper()
	var a *arrived
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		a = &arrived{method: r.Method, target: r.RequestURI, host: r.Host, header: r.Header, body: all}
	}))
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.RawPath, _ = v.Place(converse, model, stream)
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		t.Fatal(err)
	}
	r := &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Header: header, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}
	if err := v.Authorize(t.Context(), r, []byte(body), &provider.Credential{}); err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(r.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return a
}

// What arrives is signed as AWS checks it, for ids of every form.
func TestSignedRequests(t *testing.T) {
	t.Parallel()
	const secret = "secret/with+signs"
	for _, model := range []string{
		"amazon.nova-micro-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-3-haiku-20240307-v1:0:48k",
		"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.meta.llama3-2-90b-instruct-v1:0", "odd name~%41?#[]@é",
	} {
		for _, token := range []provider.Secret{"", "session//token=="} {
			t.Run(fmt.Sprint(model, token != ""), func(t *testing.T) {
				t.Parallel()
				v, err := New(Options{Region: "eu-central-1", AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: secret, SessionToken: token})
				if err != nil {
					t.Fatal(err)
				}
				header := http.Header{
					"Content-Type": {"application/json"}, "User-Agent": {"x"}, "X-Trace": {"t"}, "X-Amzn-Bedrock-Guardrailidentifier": {"g"},
					// of the caller's own account, if it thinks that it talks to AWS
					"X-Amz-Date": {"20000101T000000Z"}, "X-Amz-Security-Token": {"theirs"}, "X-Amz-Content-Sha256": {"0"}, "Authorization": {"Bearer theirs"},
				}
				a := sent(t, v, model, true, `{"messages":[]}`, header)
				if want := "/model/" + escape(model) + "/converse-stream"; a.target != want {
					t.Errorf("asked for %s, want %s", a.target, want)
				}
				check(t, a, secret, string(token))
			})
		}
	}
}

func check(t *testing.T, a *arrived, secret, token string) {
	t.Helper()
	if got := a.header.Get("X-Amz-Security-Token"); got != token {
		t.Errorf("session token %q", got)
	}
	when, err := time.Parse("20060102T150405Z", a.header.Get("X-Amz-Date"))
	if err != nil || time.Since(when).Abs() > time.Minute {
		t.Errorf("signed at %v, %v", when, err)
	}
	scope := when.Format("20060102") + "/eu-central-1/bedrock/aws4_request"
	rest, ok := strings.CutPrefix(a.header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"+scope+", SignedHeaders=")
	names, got, _ := strings.Cut(rest, ", Signature=")
	signed := strings.Split(names, ";")
	if !ok || got != signature(a, secret, scope, signed) {
		t.Errorf("%s does not fit the request", a.header.Get("Authorization"))
	}
	for name, want := range map[string]bool{
		"host": true, "content-type": true, "x-amz-date": true, "x-amz-security-token": token != "", "x-amzn-bedrock-guardrailidentifier": a.header.Get("X-Amzn-Bedrock-Guardrailidentifier") != "",
		"user-agent": false, "x-trace": false,
	} {
		if slices.Contains(signed, name) != want {
			t.Errorf("%s is signed: %t", name, !want)
		}
	}
	if slices.Contains(a.header["X-Amz-Content-Sha256"], "0") {
		t.Error("the caller's hash went out")
	}
}

// A request shares its template's URL, and header values of the caller: neither is written to.
func TestSigningChangesNothingShared(t *testing.T) {
	t.Parallel()
	v, err := New(Options{Region: "us-east-1", AccessKeyID: "a", SecretAccessKey: "b"})
	if err != nil {
		t.Fatal(err)
	}
	theirs := []string{"Bearer theirs", "more"}
	u := &url.URL{Scheme: "https", Host: "bedrock.example:443", Path: "/model/a:b/converse", RawPath: "/model/a%3Ab/converse", RawQuery: "b=1&a=2"}
	before := *u
	r := &http.Request{Method: http.MethodPost, URL: u, Host: "bedrock.example:443", Header: http.Header{"Authorization": theirs}}
	if err := v.Authorize(t.Context(), r, nil, nil); err != nil {
		t.Fatal(err)
	}
	if *u != before || theirs[0] != "Bearer theirs" {
		t.Errorf("%v, %v", u, theirs)
	}
	if r.Host != "bedrock.example" || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
		t.Errorf("%s, %v", r.Host, r.Header)
	}
}

// Credentials of the default chain are found by the first request, kept, and looked for again where there were none.
func TestDefaultChain(t *testing.T) {
	t.Parallel()
	var loads, asked atomic.Int32
	s := newSigner(Options{Region: "us-east-1", Profile: "team"})
	s.load = func(_ context.Context, region, profile string) (aws.CredentialsProvider, error) {
		if region != "us-east-1" || profile != "team" {
			t.Errorf("asked for %s, %s", region, profile)
		}
		if loads.Add(1) == 1 {
			return nil, errors.New("failed to read shared config: aws_secret_access_key = hunter2hunter2")
		}
		return aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			asked.Add(1)
			return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "s", SessionToken: "t"}, nil
		})), nil
	}
	ask := func(ctx context.Context) (*http.Request, error) {
		r := &http.Request{Method: http.MethodPost, URL: &url.URL{Scheme: "https", Host: "h", Path: "/"}, Host: "h", Header: http.Header{}}
		return r, s.authorize(ctx, r, []byte("{}"), nil)
	}
	_, err := ask(t.Context())
	var f *fault.Fault
	if !errors.As(err, &f) || f.Class != fault.Auth || strings.Contains(f.Message, "hunter2") {
		t.Fatalf("without credentials: %v", err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if r, err := ask(t.Context()); err != nil || r.Header.Get("X-Amz-Security-Token") != "t" {
				t.Errorf("%v, %v", r.Header, err)
			}
		})
	}
	all.Wait()
	if loads.Load() != 2 || asked.Load() != 1 {
		t.Errorf("loaded %d times, asked %d times", loads.Load(), asked.Load())
	}
	s.chain = aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) { return aws.Credentials{}, ctx.Err() })
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	f = nil
	if _, err := ask(gone); !errors.Is(err, context.Canceled) || errors.As(err, &f) {
		t.Errorf("after the caller left: %v", err)
	}
}

// The SDK's own chain reads a profile of the shared files.
func TestSharedFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[team]\naws_access_key_id = AKTEAM\naws_secret_access_key = s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	r := &http.Request{Method: http.MethodPost, URL: &url.URL{Scheme: "https", Host: "h", Path: "/"}, Host: "h", Header: http.Header{}}
	for profile, want := range map[string]string{"team": "AKTEAM", "other": "", "": ""} {
		v, err := New(Options{Region: "us-east-1", Profile: profile})
		if err != nil {
			t.Fatal(err)
		}
		err = v.Authorize(t.Context(), r, nil, nil)
		var f *fault.Fault
		if want == "" && (!errors.As(err, &f) || f.Class != fault.Auth) || want != "" && (err != nil || !bytes.Contains([]byte(r.Header.Get("Authorization")), []byte(want))) {
			t.Errorf("profile %q: %v, %v", profile, err, r.Header)
		}
	}
}
