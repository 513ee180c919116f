package mock

import (
	"encoding/json"
	"net/http"
	"time"
)

// logPath is where a program of its own, such as `evergate mock`, says what it saw.
const logPath = "/mock/requests"

// logged is one request in the log, without headers and body.
type logged struct {
	N         int       `json:"n"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Model     string    `json:"model"`
	Stream    bool      `json:"stream"`
	Key       string    `json:"key"` // the last four characters
	Rule      string    `json:"rule"`
	Status    int       `json:"status"`
	Chunks    int       `json:"chunks"`
	Start     time.Time `json:"start"`
	Ms        int64     `json:"ms"` // to its end, or until now
	Done      bool      `json:"done"`
	Cancelled bool      `json:"cancelled"`
}

// serveLog tells the last requests, oldest first.
func (p *Provider) serveLog(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	out := []logged{}
	for _, s := range p.Requests() {
		end := s.Done
		if end.IsZero() {
			end = time.Now()
		}
		out = append(out, logged{
			N: s.N, Method: s.Method, Path: s.Path, Model: s.Model, Stream: s.Stream, Key: s.Key, Rule: s.Rule, Status: s.Status, Chunks: s.Chunks,
			Start: s.Start, Ms: end.Sub(s.Start).Milliseconds(), Done: !s.Done.IsZero(), Cancelled: !s.CancelledAt.IsZero(),
		})
	}
	w.Header().Set("Content-Type", jsonType)
	_ = json.NewEncoder(w).Encode(out)
}
