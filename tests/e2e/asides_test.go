package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// pixel is the picture that studio draws, as checks.py knows it.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// asideChecks are what asides.py and asides.js must report.
var asideChecks = strings.Fields("images images_stream image_edits speech speech_cut transcriptions transcriptions_text transcriptions_stream translations " +
	"moderations moderations_default rerank missing files batches")

// TestAsides asks for pictures, sound, moderation, an order of documents, files and batches with the official SDKs, through
// a provider that is down.
func TestAsides(t *testing.T) {
	s := studio(t)
	g := serve(t, fmt.Sprintf(`
providers:
  down: { type: openai-compatible, base_url: "%[1]s/down/v1", api_key: unused, models: [m] }
  up:   { type: openai-compatible, base_url: "%[1]s/up/v1", api_key: unused, models: [m] }
  none: { type: openai-compatible, base_url: "%[1]s/none/v1", api_key: unused, models: [m] }
models:
  art: { strategy: ordered, targets: [down/m, up/m] }
  omni-moderation-latest: { strategy: ordered, targets: [up/m] }
resilience:
  circuit_breaker: { failure_threshold: 0 } # the provider that is down is asked each time
  retry: { max_retries: 0 }
`, s.URL), "")
	env := []string{"EVERGATE_URL=" + g.url, "MODEL=art"}
	t.Run("python", func(t *testing.T) { runScript(t, env, asideChecks, command("asides.py")...) })
	t.Run("typescript", func(t *testing.T) { runScript(t, env, asideChecks, command("asides.js")...) })
	t.Run("go", func(t *testing.T) { goAsides(t, g.url, "art") })
}

// studio is an upstream that draws, speaks, listens and keeps files, below /up.
func studio(t *testing.T) *httptest.Server {
	var sound []byte
	for i := range 256 * 4096 {
		sound = append(sound, byte(i))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/down/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		reply(w, http.StatusServiceUnavailable, `{"error":{"message":"out of order","type":"server_error"}}`)
	})
	mux.HandleFunc("POST /up/v1/images/generations", func(w http.ResponseWriter, r *http.Request) {
		var ask struct{ Stream bool }
		_ = json.NewDecoder(r.Body).Decode(&ask)
		if !ask.Stream {
			reply(w, http.StatusOK, `{"created":1,"data":[{"b64_json":"`+pixel+`"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		const rest = `,"created_at":1,"size":"auto","quality":"low","background":"auto","output_format":"png"`
		_, _ = fmt.Fprintf(w, "event: image_generation.partial_image\ndata: {\"type\":\"image_generation.partial_image\",\"partial_image_index\":0,\"b64_json\":%q%s}\n\n", pixel, rest)
		_, _ = fmt.Fprintf(w, "event: image_generation.completed\ndata: {\"type\":\"image_generation.completed\",\"b64_json\":%q%s,\"usage\":{\"input_tokens\":3,\"output_tokens\":5,\"total_tokens\":8,\"input_tokens_details\":{\"text_tokens\":3,\"image_tokens\":0}}}\n\n", pixel, rest)
	})
	mux.HandleFunc("POST /up/v1/images/edits", func(w http.ResponseWriter, r *http.Request) {
		if file, _, err := r.FormFile("image"); err != nil || r.FormValue("model") != "m" || file.Close() != nil {
			reply(w, http.StatusBadRequest, `{"error":{"message":"no picture"}}`)
			return
		}
		reply(w, http.StatusOK, `{"created":1,"data":[{"b64_json":"`+pixel+`"}]}`)
	})
	mux.HandleFunc("POST /up/v1/audio/speech", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "audio/mpeg")
		for piece := range 16 {
			_, _ = w.Write(sound[piece*len(sound)/16 : (piece+1)*len(sound)/16])
			_ = http.NewResponseController(w).Flush()
			if piece == 8 && bytes.Contains(b, []byte("break off")) {
				panic(http.ErrAbortHandler)
			}
		}
	})
	mux.HandleFunc("POST /up/v1/audio/", func(w http.ResponseWriter, r *http.Request) {
		file, head, err := r.FormFile("file")
		if err != nil {
			reply(w, http.StatusBadRequest, `{"error":{"message":"no recording"}}`)
			return
		}
		n, _ := io.Copy(io.Discard, file)
		text := fmt.Sprintf("%s %s %s %d", r.FormValue("model"), r.FormValue("language"), head.Filename, n)
		switch {
		case r.FormValue("stream") == "true":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"type\":\"transcript.text.delta\",\"delta\":%q}\n\ndata: {\"type\":\"transcript.text.done\",\"text\":%q}\n\n", text, text)
		case r.FormValue("response_format") == "text":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = fmt.Fprintln(w, text)
		default:
			reply(w, http.StatusOK, fmt.Sprintf(`{"text":%q}`, text))
		}
	})
	mux.HandleFunc("POST /up/v1/moderations", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, `{"id":"modr-1","model":"m","results":[{"flagged":false,"categories":{},"category_scores":{},"category_applied_input_types":{}}]}`)
	})
	mux.HandleFunc("POST /up/v1/rerank", func(w http.ResponseWriter, r *http.Request) {
		var ask struct {
			Model     string
			Documents []string
		}
		if json.NewDecoder(r.Body).Decode(&ask) != nil || ask.Model != "m" || len(ask.Documents) != 2 {
			reply(w, http.StatusBadRequest, `{"message":"two documents and the model m are meant"}`)
			return
		}
		reply(w, http.StatusOK, `{"id":"r-1","results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.1}],"meta":{"billed_units":{"search_units":1}}}`)
	})
	keepFiles(mux)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// keepFiles has the upstream keep one file, and one batch of it.
func keepFiles(mux *http.ServeMux) {
	var (
		mu   sync.Mutex // one suite runs at a time, but the race detector cannot know
		kept []byte
		made batch
	)
	file := func() string {
		return fmt.Sprintf(`{"id":"file-1","object":"file","bytes":%d,"created_at":1,"filename":"in.jsonl","purpose":"batch","status":"processed"}`, len(kept))
	}
	handle := func(pattern string, h http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			h(w, r)
		})
	}
	handle("POST /up/v1/files", func(w http.ResponseWriter, r *http.Request) {
		part, _, err := r.FormFile("file")
		if err == nil {
			kept, err = io.ReadAll(part)
		}
		if err != nil || r.FormValue("purpose") != "batch" {
			reply(w, http.StatusBadRequest, `{"error":{"message":"no file for a batch"}}`)
			return
		}
		reply(w, http.StatusOK, file())
	})
	handle("GET /up/v1/files", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("after") != "" || r.FormValue("purpose") != "batch" {
			reply(w, http.StatusOK, `{"object":"list","data":[],"has_more":false}`)
			return
		}
		reply(w, http.StatusOK, `{"object":"list","data":[`+file()+`],"first_id":"file-1","last_id":"file-1","has_more":false}`)
	})
	handle("GET /up/v1/files/file-1", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, file()) })
	handle("GET /up/v1/files/file-1/content", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(kept)
	})
	handle("DELETE /up/v1/files/file-1", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, `{"id":"file-1","object":"file","deleted":true}`)
	})
	handle("POST /up/v1/batches", func(w http.ResponseWriter, r *http.Request) {
		made = batch{ID: "batch_1", Object: "batch", Status: "validating", CreatedAt: 1}
		if json.NewDecoder(r.Body).Decode(&made) != nil || made.Window != "24h" {
			reply(w, http.StatusBadRequest, `{"error":{"message":"a batch takes 24h"}}`)
			return
		}
		made.write(w)
	})
	handle("GET /up/v1/batches/batch_1", func(w http.ResponseWriter, _ *http.Request) { made.write(w) })
	handle("POST /up/v1/batches/batch_1/cancel", func(w http.ResponseWriter, _ *http.Request) {
		made.Status = "cancelling"
		made.write(w)
	})
	handle("GET /up/v1/batches", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("limit") != "3" {
			reply(w, http.StatusBadRequest, `{"error":{"message":"the query was lost"}}`)
			return
		}
		text, _ := json.Marshal(made)
		reply(w, http.StatusOK, `{"object":"list","data":[`+string(text)+`],"has_more":false}`)
	})
}

// batch is a batch as OpenAI's API has it.
type batch struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	Endpoint  string `json:"endpoint"`
	Input     string `json:"input_file_id"`
	Window    string `json:"completion_window"`
	Status    string `json:"status"`
	CreatedAt int    `json:"created_at"`
}

func (b *batch) write(w http.ResponseWriter) {
	text, _ := json.Marshal(b)
	reply(w, http.StatusOK, string(text))
}
