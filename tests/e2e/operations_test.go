package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const hello = `{"model":"fast","max_tokens":4,"messages":[{"role":"user","content":"Say hello"}]}`

// TestDemo starts what the README's first command starts and waits for what it promises: failovers that one can see.
func TestDemo(t *testing.T) {
	t.Parallel()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	demo := start(t, "evergate demo", nil, evergate, "demo", "--listen", fmt.Sprintf("127.0.0.1:%d", port))
	if err := demo.awaitHTTP(url+"/readyz", 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if out := demo.out.String(); !strings.Contains(strings.ToLower(out), "simulated") {
		t.Errorf("the demo does not say that it is simulated:\n%s", out)
	}
	model := firstModel(t, url)
	eventually(t, time.Minute, func() error {
		status, header, body := post(t, url+"/v1/chat/completions", strings.Replace(hello, "fast", model, 1))
		if status != http.StatusOK {
			t.Fatalf("the demo answered %d: %s", status, body)
		}
		if trail := header.Get("X-Evergate-Trail"); !strings.Contains(trail, "=200") || strings.Count(trail, "=") < 2 {
			return fmt.Errorf("no failover yet: attempts %s, trail %s", header.Get("X-Evergate-Attempts"), trail)
		}
		return nil
	})
	demo.terminate(t)
	if code := demo.exitCode(t, 15*time.Second); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

func firstModel(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list.Data) == 0 {
		t.Fatalf("models of the demo: %+v, %v", list, err)
	}
	return list.Data[0].ID
}

// TestDrain stops the gateway while a stream runs: readiness ends at once, the stream comes to its end, exit code 0.
func TestDrain(t *testing.T) {
	t.Parallel()
	g := serve(t, slowConfig(moody(t).URL), "shutdown_grace: 20s")
	body := openStream(t, g.url)
	g.terminate(t)
	eventually(t, time.Second, func() error {
		resp, err := http.Get(g.url + "/readyz")
		if err != nil {
			return nil //nolint:nilerr // a listener that is closed is not ready either
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusServiceUnavailable {
			return fmt.Errorf("/readyz answers %s", resp.Status)
		}
		return nil
	})
	rest, err := io.ReadAll(body)
	if err != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") || strings.Contains(string(rest), `"error"`) {
		t.Errorf("the stream ended with %v: %s", err, tail(string(rest), 4))
	}
	if code := g.exitCode(t, 5*time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestDrainCutShort stops the gateway with less grace than a stream needs: the stream gets an error event, exit code 1.
func TestDrainCutShort(t *testing.T) {
	g := serve(t, slowConfig(moody(t).URL), "shutdown_grace: 300ms")
	body := openStream(t, g.url)
	g.terminate(t)
	rest, err := io.ReadAll(body)
	if err != nil || !strings.Contains(string(rest), `data: {"error":`) || strings.Contains(string(rest), "[DONE]") {
		t.Errorf("the stream ended with %v: %s", err, tail(string(rest), 4))
	}
	if code := g.exitCode(t, 5*time.Second); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func slowConfig(moodyURL string) string {
	return fmt.Sprintf("providers:\n  slow: { type: openai-compatible, base_url: \"%s/slow/v1\", api_key: unused, models: [m] }\n", moodyURL)
}

// openStream starts a stream of two seconds and gives its body after the first event.
func openStream(t *testing.T, url string) io.Reader {
	t.Helper()
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"slow/m","stream":true,"messages":[{"role":"user","content":"go on"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	first := make([]byte, 64)
	if _, err := io.ReadFull(resp.Body, first); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	return resp.Body
}

// TestNewcomer does what somebody new does with a file of their own: check it, serve it, see a failover in the headers,
// make a mistake in it and be told where.
func TestNewcomer(t *testing.T) {
	beta.ensure(t)
	dead, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`
providers:
  first: { type: openai-compatible, base_url: "http://127.0.0.1:%d/v1", api_key: unused, models: [gemma] }
  second: { type: llamacpp, base_url: "%s/v1" }
models:
  fast: { strategy: ordered, targets: [first/gemma, second/gemma] }
`, dead, beta.url())
	file := filepath.Join(t.TempDir(), "evergate.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := run(t, evergate, "check", "-c", file); code != 0 {
		t.Fatalf("check of a good file: exit code %d\n%s", code, out)
	}

	g := serve(t, config, "")
	status, header, body := post(t, g.url+"/v1/chat/completions", hello)
	if status != http.StatusOK || header.Get("X-Evergate-Provider") != "second" || !strings.Contains(header.Get("X-Evergate-Trail"), "first/gemma=") {
		t.Errorf("%d, %v: %s", status, header, body)
	}
	if out, code := run(t, evergate, "status", "--url", g.url); code != 0 || !strings.Contains(out, "first") || !strings.Contains(out, "second") {
		t.Errorf("status: exit code %d\n%s", code, out)
	}

	if err := os.WriteFile(file, []byte(strings.Replace(config, "strategy", "stategy", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := run(t, evergate, "check", "-c", file)
	if code != 1 || !strings.Contains(out, "strategy") || !strings.Contains(out, ":6") {
		t.Errorf("check of a file with a wrong key in line 6: exit code %d\n%s", code, out)
	}
}

func post(t *testing.T, url, body string) (status int, header http.Header, text string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(all)
}
