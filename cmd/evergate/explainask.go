package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"evergate/internal/explain"
)

// ask asks the running gateway, and reads its reply into a value.
func (k *explainCmd) ask(ctx context.Context, method, path string, body []byte, into any) ([]byte, error) {
	gateway := adminClient{url: k.URL, token: k.Token, hint: "; -c FILE explains by a config alone"}
	reply, err := gateway.do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	switch reply.code {
	case http.StatusOK:
		if json.Unmarshal(reply.text, into) != nil {
			return nil, fmt.Errorf("%s did not answer with an explanation but with %s; is it an Evergate gateway?", k.URL, shown(reply.text))
		}
		return reply.text, nil
	case http.StatusBadRequest, http.StatusNotFound:
		if said := ownWords(reply.text); said != "" {
			return nil, errors.New(said)
		}
	}
	return nil, refused(k.URL, reply.status, reply.text)
}

// ownWords are what the admin API says of a question that it does not understand, or of a request that it does not know;
// empty: it was not the admin API.
func ownWords(body []byte) string {
	var reply struct {
		Error struct{ Message, Code string }
	}
	if json.Unmarshal(body, &reply) != nil || reply.Error.Code != "invalid_request" && reply.Error.Code != "not_found" {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, reply.Error.Message)
}

// parameters say of a question what is not in its body.
func parameters(q explain.Question) url.Values {
	p := url.Values{}
	for name, value := range map[string]string{"dialect": q.Dialect, "model": q.Model, "key": q.Key, "prefer": q.Prefer} {
		if value != "" {
			p.Set(name, value)
		}
	}
	for name, on := range map[string]bool{"stream": q.Stream, "strict": q.Strict} {
		if on {
			p.Set(name, "true")
		}
	}
	for _, name := range q.Brings {
		p.Add("byok", name)
	}
	return p
}

// readRequest reads a request body from a file, or from standard input.
func readRequest(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name) //nolint:gosec // the operator names it
}
