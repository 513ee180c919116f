package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"evergate/internal/admin"
)

// fetch asks for the newest requests; to go on, for as many as there may be.
func (k *requestsCmd) fetch(ctx context.Context, goesOn bool, from time.Time, cursor string) ([]byte, error) {
	q := url.Values{"limit": {k.Limit}}
	if goesOn {
		q.Set("limit", "500")
	}
	if !from.IsZero() {
		q.Set("from", from.Format(time.RFC3339Nano))
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	for name, v := range map[string]string{"route": k.Model, "provider": k.Provider, "key": k.Key} {
		if v != "" {
			q.Set(name, v)
		}
	}
	for name, yes := range map[string]bool{"failed": k.Failed, "rescued": k.Rescued} {
		if yes {
			q.Set(name, "true")
		}
	}
	gateway := adminClient{url: k.URL, token: k.Token}
	reply, err := gateway.do(ctx, http.MethodGet, "/admin/v1/requests?"+q.Encode(), nil)
	switch {
	case err != nil:
		return nil, err
	case reply.code != http.StatusOK:
		return nil, refused(k.URL, reply.status, reply.text)
	}
	return reply.text, nil
}

// listed is a request of a page, and its JSON.
type listed struct {
	admin.Listed

	raw json.RawMessage
}

// readPage reads a page; next is where it goes on.
func (k *requestsCmd) readPage(text []byte) (rows []listed, next string, err error) {
	var page struct {
		Requests []json.RawMessage `json:"requests"`
		Next     string            `json:"next"`
	}
	if json.Unmarshal(text, &page) != nil {
		return nil, "", fmt.Errorf("%s did not answer with requests but with %s; is it an Evergate gateway?", k.URL, shown(text))
	}
	for _, raw := range page.Requests {
		r := listed{raw: raw}
		if json.Unmarshal(raw, &r.Listed) == nil {
			rows = append(rows, r)
		}
	}
	return rows, page.Next, nil
}

func names(rows []listed) (out []string) {
	for i := range rows {
		out = append(out, rows[i].Row)
	}
	return out
}
