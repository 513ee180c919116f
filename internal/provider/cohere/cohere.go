// Package cohere is the vendor of Cohere's API: its routes, its list of models, and the words of its errors. It must
// not know how requests travel or what they say.
package cohere

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/provider"
)

// list is where the models are: the second version of the API has no list of its own.
const list = "../v1/models?page_size=1000"

// New makes the vendor. The base URL ends with /v2.
func New() *provider.Vendor {
	speaks := []string{"cohere", "cohere_embed", "rerank"}
	return &provider.Vendor{
		Name:   "cohere",
		Speaks: func(string) []string { return speaks },
		Maker:  func(string) llm.Vendor { return llm.Cohere },
		Place: func(dialect, _ string, _ bool) (path, query string) {
			switch dialect {
			case "cohere":
				return "/chat", ""
			case "cohere_embed":
				return "/embed", ""
			case "rerank":
				return "/rerank", ""
			}
			return "", ""
		},
		Faults: faults(),
		Models: &provider.ModelList{Path: list, Read: readModels},
	}
}

// faults stand before the common table. Errors are a message without a code; docs.cohere.com/reference/errors lists the
// statuses.
func faults() []provider.Entry {
	return []provider.Entry{
		// R5 before R4. A trial key's month is used up.
		{From: 429, To: 429, InBody: true, Says: []string{"api calls / month"}, Class: fault.Quota},
		// R12. A status of Cohere's own: the request is against its guidelines.
		{From: 498, To: 498, Class: fault.ContentFilter},
	}
}

// readModels reads one page of GET /v1/models. Models that can neither talk nor embed nor rank are left out.
func readModels(body []byte) (ids []string, next string, err error) {
	var page struct {
		Models *[]struct {
			Name      string   `json:"name"`
			Endpoints []string `json:"endpoints"`
		} `json:"models"`
		Next string `json:"next_page_token"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, "", err
	}
	if page.Models == nil {
		return nil, "", errors.New("no models")
	}
	for _, m := range *page.Models {
		if m.Endpoints == nil || slices.Contains(m.Endpoints, "chat") || slices.Contains(m.Endpoints, "embed") || slices.Contains(m.Endpoints, "rerank") {
			ids = append(ids, m.Name)
		}
	}
	if page.Next != "" {
		next = list + "&page_token=" + url.QueryEscape(page.Next)
	}
	return ids, next, nil
}
