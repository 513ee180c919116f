package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"evergate/internal/attempt"
	"evergate/internal/fault"
)

const (
	maxModelList = 8 << 20 // bytes of one page
	maxPages     = 100
	maxModels    = 10_000
	maxModelID   = 256 // bytes
)

// Models asks the provider which models it has, with its first credential that has a value. The ids come in the
// provider's order, each once, at most 10,000; none where the vendor has no list.
func (c *Client) Models(ctx context.Context) ([]string, *fault.Fault) {
	list := c.list()
	credential := c.firstCredential(ctx)
	found := modelSet{ids: []string{}}
	asked := map[string]bool{}
	for path := list.Path; path != "" && !asked[path] && len(asked) < maxPages && found.room(); {
		asked[path] = true
		body, f := c.get(ctx, path, credential)
		if f != nil {
			return nil, f
		}
		ids, next, err := list.Read(body)
		if err != nil {
			return nil, c.unreadable(err)
		}
		found.add(ids)
		path = next
	}
	return found.ids, nil
}

// list is where the vendor has its models.
func (c *Client) list() *ModelList {
	if c.vendor.Models == nil {
		return &ModelList{Path: "/models", Read: readModels}
	}
	return c.vendor.Models
}

func (c *Client) unreadable(err error) *fault.Fault {
	return c.Refine(&fault.Fault{Class: fault.Invalid, Status: http.StatusOK, Message: "the model list cannot be read", Cause: err})
}

// firstCredential is the index of the first credential that has a value, or can get an access token; 0 if none has.
func (c *Client) firstCredential(ctx context.Context) int {
	return max(0, slices.IndexFunc(c.options.Credentials, func(k Credential) bool {
		if k.OAuth == nil {
			return k.Value != ""
		}
		_, f := c.token(ctx, c.credential(k.Name))
		return f == nil
	}))
}

// get asks for one page of the list; path may hold a query.
func (c *Client) get(ctx context.Context, path string, credential int) ([]byte, *fault.Fault) {
	path, query, _ := strings.Cut(path, "?")
	u, err := below(c.options.BaseURL, path, query)
	if err != nil {
		return nil, c.Refine(&fault.Fault{Class: fault.Invalid, Message: "the model list goes on elsewhere", Cause: err})
	}
	req := &http.Request{
		Method: http.MethodGet, URL: u, Host: c.host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header(&attempt.Outgoing{}, credential),
	}
	delete(req.Header, "Content-Type")
	token, f := c.token(ctx, credential)
	if f == nil {
		f = c.pay(ctx, req, nil, credential, token)
	}
	if f != nil {
		return nil, f
	}
	x := &exchange{secure: c.options.BaseURL.Scheme == "https"}
	defer x.seal()
	resp, err := c.roundTrip(ctx, req, x)
	if err != nil {
		return nil, c.netFault(ctx, err)
	}
	if f := switched(resp, false); f != nil {
		return nil, c.Refine(f)
	}
	if f := decode(resp); f != nil {
		return nil, c.Refine(f)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written to it
	if resp.StatusCode == http.StatusUnauthorized && token != "" {
		c.tokens[credential].Refused(token) // the next look has another
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxModelList+1))
	if err != nil {
		return nil, c.ReadFault(ctx, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, c.Classify(resp.StatusCode, resp.Header, body, "", "")
	}
	if len(body) > maxModelList {
		return nil, c.Refine(&fault.Fault{Class: fault.Invalid, Status: resp.StatusCode, Message: "the model list is larger than 8 MiB"})
	}
	return body, nil
}

// modelSet collects ids, each once, within bounds.
type modelSet struct {
	ids  []string
	seen map[string]bool
}

func (s *modelSet) room() bool { return len(s.ids) < maxModels }

func (s *modelSet) add(ids []string) {
	if s.seen == nil {
		s.seen = make(map[string]bool, len(ids))
	}
	for _, id := range ids {
		if id == "" || len(id) > maxModelID || s.seen[id] || !s.room() {
			continue
		}
		s.seen[id] = true
		s.ids = append(s.ids, id)
	}
}

// listed model, in any of the fields that carry its id: OpenAI's and most others' id, Ollama's and llama.cpp's model
// or name.
type modelEntry struct {
	ID    string `json:"id"`
	Model string `json:"model"`
	Name  string `json:"name"`
}

// readModels reads a model list: OpenAI's {"data": […]}, a bare array (Together), or Ollama's {"models": […]}; llama.cpp
// says the same in both of the latter.
func readModels(body []byte) (ids []string, next string, err error) {
	var entries []modelEntry
	if trimmed := strings.TrimSpace(string(body[:min(len(body), 64)])); strings.HasPrefix(trimmed, "[") {
		if err := json.Unmarshal(body, &entries); err != nil {
			return nil, "", err
		}
	} else {
		var list struct {
			Data   *[]modelEntry `json:"data"`
			Models *[]modelEntry `json:"models"`
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, "", err
		}
		switch {
		case list.Data != nil:
			entries = *list.Data
		case list.Models != nil:
			entries = *list.Models
		default:
			return nil, "", errors.New("neither data nor models")
		}
	}
	for _, e := range entries {
		ids = append(ids, cmp.Or(e.ID, e.Model, e.Name))
	}
	return ids, "", nil
}
