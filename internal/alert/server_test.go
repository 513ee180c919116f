package alert

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"evergate/internal/journal"
)

// genuine is what the documentation has receivers do.
func genuine(secret, header string, body []byte) bool {
	t, v1, _ := strings.Cut(strings.TrimPrefix(header, "t="), ",v1=")
	at, err := strconv.ParseInt(t, 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(v1))
}

// fenced is the block of a language in the documentation.
func fenced(t *testing.T, language string) string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), "```"+language+"\n")
	code, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatalf("docs/alerts.md has no block of %s", language)
	}
	return code
}

// Over real TLS: a receiver gets the alert, and finds it genuine by the documentation's code, in Go and in Python; another secret, a changed body and an
// old time are not. A certificate that nobody signed is refused.
func TestARealReceiver(t *testing.T) {
	t.Parallel()
	type got struct {
		header string
		body   []byte
	}
	heard := make(chan got, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		heard <- got{r.Header.Get(SignatureHeader), body}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	start := func(client http.RoundTripper) *Watcher {
		w := New(Options{Instance: "i", Client: client, Log: slog.New(slog.DiscardHandler), Random: func() float64 { return 0 }})
		w.Apply([]Receiver{{Name: "ops", URL: server.URL + "/hook", Secret: "s3cret"}}, []string{"a"})
		w.Start()
		t.Cleanup(func() { w.Stop(t.Context()) })
		return w
	}
	start(server.Client().Transport).GuardChanged(&journal.Guard{At: time.Now(), Provider: "a", Guard: "circuit_breaker", To: "open"})
	a := <-heard
	if !genuine("s3cret", a.header, a.body) {
		t.Errorf("%s is not genuine: %s", a.header, a.body)
	}
	old := Sign("s3cret", time.Now().Add(-time.Hour), a.body)
	if genuine("other", a.header, a.body) || genuine("s3cret", a.header, append(a.body, ' ')) || genuine("s3cret", old, a.body) || genuine("s3cret", "", nil) {
		t.Error("what is not genuine passes")
	}
	source, err := os.ReadFile("server_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if code := fenced(t, "go"); !strings.Contains(string(source), code) {
		t.Errorf("the documentation has another function than this test:\n%s", code)
	}
	if python, err := exec.LookPath("python3"); err == nil {
		script := fenced(t, "python") + "import sys\nbody = sys.stdin.buffer.read()\nprint(genuine('s3cret', sys.argv[1], body), genuine('s3cret', sys.argv[1], body + b' '), genuine('s3cret', sys.argv[2], body), genuine('s3cret', '', body))\n"
		cmd := exec.CommandContext(t.Context(), python, "-c", script, a.header, old)
		cmd.Stdin = bytes.NewReader(a.body[:len(a.body):len(a.body)])
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "True False False False" {
			t.Errorf("Python says %s (%v)", out, err)
		}
	}

	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	if got, _ := start(transport).Test(t.Context(), "ops", "me"); got.Delivered || got.Message != "its certificate is not valid" {
		t.Errorf("%+v", got)
	}
}

// The message for Slack, as a file that a review sees change: names that would mention a channel, make a link or turn the writing are text.
func TestSlack(t *testing.T) {
	t.Parallel()
	w := New(Options{Instance: "i1"})
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	evil := "<!channel> <http://evil|x> &amp; *b*\n\u202egnp.exe\x1b[31m\xff"
	var out strings.Builder
	say := func(a Alert) {
		a.clean()
		fmt.Fprintf(&out, "%s\n%s\n\n", a.body(JSON), a.body(Slack))
	}
	a := w.alertOf(BreakerOpened, at, "groq")
	a.Provider, a.Trip, a.Reason, a.Until, a.RequestID, a.Summary = "groq", "failures", "circuit_open", Time(at.Add(30*time.Second)), "req_1", "groq: the circuit breaker is open after failures"
	say(a)
	say(a.over(at.Add(90 * time.Second)))
	b := w.alertOf(AllBlocked, at, evil)
	b.Route, b.Summary, b.Message, b.By, b.RequestID = evil, "No provider answers requests for the model "+strconv.Quote(evil), evil+strings.Repeat("x", 1000), evil, evil
	say(b)
	say(w.alertOf(Test, at, "ops"))
	const golden = "testdata/messages.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.ContainsAny(out.String(), "\u202e\x1b") || strings.Contains(out.String(), "<!channel>") {
		t.Error("what is not text got through")
	}
}
