// Package anthropic is the vendor of Anthropic's own API: its routes, its key and version headers, its list of models,
// and the words of its errors. It must not know how requests travel or what they say.
package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/provider"
)

// version is the API's version where the caller's client names none.
const version = "2023-06-01"

// New makes the vendor. The base URL ends with /v1.
func New() *provider.Vendor {
	speaks := []string{"messages", "count_tokens"}
	versions := []string{version}
	return &provider.Vendor{
		Name:       "anthropic",
		AuthHeader: "X-Api-Key",
		Speaks:     func(string) []string { return speaks },
		Maker:      func(string) llm.Vendor { return llm.Anthropic },
		Place: func(dialect, _ string, _ bool) (path, query string) {
			switch dialect {
			case "messages":
				return "/messages", ""
			case "count_tokens":
				return "/messages/count_tokens", ""
			}
			return "", ""
		},
		Header: func(out http.Header, _ string) {
			if out["Anthropic-Version"] == nil {
				out["Anthropic-Version"] = versions
			}
		},
		Faults: faults(),
		Models: &provider.ModelList{Path: "/models?limit=1000", Read: readModels},
	}
}

// faults stand before the common table, which knows the rest of Anthropic's words, as those who resell its models use
// them too.
func faults() []provider.Entry {
	return []provider.Entry{
		// R6 before R4. A limit that names a model is that model's, and others go on with the same key.
		{From: 429, To: 429, InBody: true, Says: []string{"per minute (…model: "}, Class: fault.ModelLimited},
		// R5. It comes without a status in a stream.
		{From: 400, To: 499, InBody: true, Codes: []string{"billing_error"}, Class: fault.Quota},
	}
}

// readModels reads one page of GET /models.
func readModels(body []byte) (ids []string, next string, err error) {
	var page struct {
		Data *[]struct {
			ID string `json:"id"`
		} `json:"data"`
		HasMore bool   `json:"has_more"`
		LastID  string `json:"last_id"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, "", err
	}
	if page.Data == nil {
		return nil, "", errors.New("no data")
	}
	for _, m := range *page.Data {
		ids = append(ids, m.ID)
	}
	if page.HasMore && page.LastID != "" {
		next = "/models?limit=1000&after_id=" + url.QueryEscape(page.LastID)
	}
	return ids, next, nil
}
