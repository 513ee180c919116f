package provider

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"evergate/internal/fault"
)

const (
	maxModelList = 8 << 20 // bytes
	maxModels    = 10_000
	maxModelID   = 256 // bytes
)

// Models asks the provider which models it has, with its first credential that has a value. The ids come in the
// provider's order, each once, at most 10,000.
func (c *Client) Models(ctx context.Context) ([]string, *fault.Fault) {
	credential := 0
	for i, a := range c.auth {
		if a != nil {
			credential = i
			break
		}
	}
	req := c.template(http.MethodGet, "/models").WithContext(ctx)
	req.Header = c.header(nil, credential)
	delete(req.Header, "Content-Type")
	resp, err := c.pooled.RoundTrip(req)
	if err != nil {
		return nil, c.netFault(ctx, err)
	}
	if f := decode(resp); f != nil {
		return nil, c.Refine(f)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written to it
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
	ids, err := readModels(body)
	if err != nil {
		return nil, c.Refine(&fault.Fault{Class: fault.Invalid, Status: resp.StatusCode, Message: "the model list cannot be read", Cause: err})
	}
	return ids, nil
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
func readModels(body []byte) ([]string, error) {
	var entries []modelEntry
	if trimmed := strings.TrimSpace(string(body[:min(len(body), 64)])); strings.HasPrefix(trimmed, "[") {
		if err := json.Unmarshal(body, &entries); err != nil {
			return nil, err
		}
	} else {
		var list struct {
			Data   *[]modelEntry `json:"data"`
			Models *[]modelEntry `json:"models"`
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, err
		}
		switch {
		case list.Data != nil:
			entries = *list.Data
		case list.Models != nil:
			entries = *list.Models
		default:
			return nil, errors.New("neither data nor models")
		}
	}
	seen := make(map[string]bool, len(entries))
	ids := make([]string, 0, min(len(entries), maxModels))
	for _, e := range entries {
		id := e.ID
		if id == "" {
			id = e.Model
		}
		if id == "" {
			id = e.Name
		}
		if id == "" || len(id) > maxModelID || seen[id] {
			continue
		}
		if seen[id] = true; len(ids) == maxModels {
			break
		}
		ids = append(ids, id)
	}
	return ids, nil
}
