// Package webhook asks a service of the operator's about texts: it posts them as JSON, signed as alerts are, and reads a verdict. It owns the
// form of both, how many calls may be under way, and what is said of a call that failed, which has neither a URL nor a word of the texts in it.
//
// It must not know HTTP requests of clients, dialects, or what becomes of a text that could not be judged.
package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"evergate/internal/alert"
	"evergate/internal/guardrail"
)

const (
	// maxReply is how long a verdict may be, beyond the texts in it, in bytes.
	maxReply = 1 << 20
	// escaped is how many bytes of JSON one byte of a text may become: \u0001.
	escaped = 6
)

// Options say where a service is.
type Options struct {
	URL string
	// Secret signs what is sent; empty: it is not signed.
	Secret string
	// Concurrent is how many calls may be under way; one more waits for as long as its context lets it.
	Concurrent int
	// Client sends requests. It follows no redirect.
	Client http.RoundTripper
}

// Hook is one service. Safe for concurrent use.
type Hook struct {
	o     Options
	slots chan struct{}
}

// New makes a hook.
func New(o Options) *Hook { return &Hook{o, make(chan struct{}, max(o.Concurrent, 1))} }

// question is what is posted.
type question struct {
	Phase     string `json:"phase"`
	Model     string `json:"model"`
	Key       string `json:"key,omitempty"`
	Team      string `json:"team,omitempty"`
	RequestID string `json:"request_id"`
	// Window: the part is a piece of a longer text, and Before is what stood before it.
	Window bool   `json:"window,omitempty"`
	Before string `json:"before,omitempty"`
	Parts  []part `json:"parts"`
}

type part struct {
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
}

// answer is what the service says.
type answer struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
	Parts  []struct {
		Text *string `json:"text"` // nil: it says none
	} `json:"parts"`
}

// Check implements [guardrail.Guard]. Words and arguments are asked about; where there are none, nobody is.
func (h *Hook) Check(ctx context.Context, p *guardrail.Passage) (guardrail.Verdict, error) {
	q := question{
		Phase: p.Phase.String(), Model: p.Model, Key: p.Key, Team: p.Team, RequestID: p.RequestID, Window: p.Window, Before: beginning(p.Before),
	}
	var at []int
	size := 0
	for i := range p.Texts {
		kind := ""
		switch p.Texts[i].Kind {
		case guardrail.Words:
			kind = "text"
		case guardrail.Arguments:
			kind = "arguments"
		default:
			continue
		}
		q.Parts, at = append(q.Parts, part{kind, string(p.Texts[i].Value)}), append(at, i)
		size += len(p.Texts[i].Value)
	}
	if len(at) == 0 {
		return guardrail.Verdict{}, nil
	}
	a, err := h.ask(ctx, &q, maxReply+escaped*size)
	if err != nil {
		return guardrail.Verdict{}, err
	}
	switch a.Action {
	case "allow":
		return guardrail.Verdict{}, nil
	case "block":
		return guardrail.Verdict{Action: guardrail.Block, Reason: a.Reason}, nil
	case "replace":
	default:
		return guardrail.Verdict{}, errors.New(`its answer's action is none of allow, block and replace`)
	}
	if len(a.Parts) != len(at) {
		return guardrail.Verdict{}, fmt.Errorf("its answer has %d parts for the %d that it was asked about", len(a.Parts), len(at))
	}
	for k := range a.Parts {
		if a.Parts[k].Text == nil {
			return guardrail.Verdict{}, fmt.Errorf("part %d of its answer has no text", k+1)
		}
	}
	for k, i := range at {
		p.Texts[i].Value = []byte(*a.Parts[k].Text)
	}
	return guardrail.Verdict{Action: guardrail.Replace}, nil
}

// beginning is a text that may begin within a character.
func beginning(b []byte) string {
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return string(b)
}

// ask makes one call.
func (h *Hook) ask(ctx context.Context, q *question, most int) (a answer, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return a, errors.New("the question cannot be written")
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return a, errors.New("too many calls to it are under way")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.o.URL, bytes.NewReader(body))
	if err != nil {
		return a, errors.New("its URL is none")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "evergate")
	if u := r.URL.User; u != nil {
		password, _ := u.Password()
		r.SetBasicAuth(u.Username(), password)
	}
	if h.o.Secret != "" {
		r.Header.Set(alert.SignatureHeader, alert.Sign(h.o.Secret, time.Now(), body))
	}
	resp, err := h.o.Client.RoundTrip(r)
	if err != nil {
		return a, unreached(ctx)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is left to be lost
	if resp.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
		return a, fmt.Errorf("it answered %d", resp.StatusCode)
	}
	said, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	switch {
	case err != nil:
		return a, unreached(ctx)
	case len(said) > most:
		return a, errors.New("its answer is too long")
	}
	return read(said)
}

// read reads a verdict.
func read(said []byte) (a answer, err error) {
	if err := json.Unmarshal(said, &a); err != nil {
		return answer{}, errors.New("its answer is not JSON of the form {\"action\": …}")
	}
	return a, nil
}

// unreached says why there is no answer, without an address.
func unreached(ctx context.Context) error {
	switch err := ctx.Err(); {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it did not answer in time")
	case err != nil:
		return errors.New("the client left")
	}
	return errors.New("it could not be reached, or broke off")
}
