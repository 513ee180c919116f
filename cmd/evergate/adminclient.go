package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// adminClient asks the admin API of a running gateway.
type adminClient struct {
	url, token string
	// hint says what else can be done where no gateway is there; may be empty.
	hint string
}

// adminReply is what came, whatever its status.
type adminReply struct {
	code   int
	status string // as HTTP says it: 200 OK
	text   []byte
}

// do makes one request.
func (c *adminClient) do(ctx context.Context, method, path string, body []byte) (*adminReply, error) {
	base := strings.TrimRight(c.url, "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("--url %q: %w", c.url, err)
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	client, err := httpClient(ctx)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no gateway at %s (start one, or name it with --url%s): %w", c.url, c.hint, err)
	}
	defer res.Body.Close() //nolint:errcheck // nothing is left to be lost
	text, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return nil, errors.Join(errors.New("the reply of "+c.url+" broke off"), err)
	}
	return &adminReply{res.StatusCode, res.Status, text}, nil
}

// ask makes one request with body as JSON, or none for nil, and gives the reply's text; a reply that is no success is an error with its words.
func (c *adminClient) ask(ctx context.Context, method, path string, body any) ([]byte, error) {
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body) // numbers and words alone
	}
	reply, err := c.do(ctx, method, path, text)
	if err != nil {
		return nil, err
	}
	if reply.code != http.StatusOK && reply.code != http.StatusCreated {
		return nil, refused(c.url, reply.status, reply.text)
	}
	return reply.text, nil
}
