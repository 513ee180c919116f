// Package gemini is the vendor of Google's Gemini API (the one with API keys): its routes, which hold the model, its
// list of models, and the words of its errors. It must not know how requests travel or what they say.
package gemini

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/provider"
)

// New makes the vendor. The base URL ends with /v1beta.
func New() *provider.Vendor {
	speaks := []string{"gemini", "gemini_count_tokens", "gemini_batch_embed", "gemini_embed"}
	return &provider.Vendor{
		Name:       "gemini",
		AuthHeader: "X-Goog-Api-Key",
		Speaks:     func(string) []string { return speaks },
		Maker:      func(string) llm.Vendor { return llm.Google },
		Place:      place,
		Faults:     faults(),
		Sides:      []string{"upload", "download"}, // the bytes of files
		Models:     &provider.ModelList{Path: "/models?pageSize=1000", Read: readModels},
	}
}

// place says where a model is asked. Streams come as server-sent events only if asked to.
func place(dialect, model string, stream bool) (path, query string) {
	method := ""
	switch {
	case dialect == "gemini" && stream:
		method, query = ":streamGenerateContent", "alt=sse"
	case dialect == "gemini":
		method = ":generateContent"
	case dialect == "gemini_count_tokens":
		method = ":countTokens"
	case dialect == "gemini_embed":
		method = ":embedContent"
	case dialect == "gemini_batch_embed":
		method = ":batchEmbedContents"
	default:
		return "", ""
	}
	return resource(model) + method, query
}

// resource is a model's path. Tuned models have a collection of their own.
func resource(model string) string {
	if name, ok := strings.CutPrefix(model, "tunedModels/"); ok {
		return "/tunedModels/" + url.PathEscape(name)
	}
	return "/models/" + url.PathEscape(strings.TrimPrefix(model, "models/"))
}

// faults stand before the common table.
func faults() []provider.Entry {
	return []provider.Entry{
		// R6 and R4 before R5. Google words every limit as an exhausted quota. Of what it is one the quota's id tells, or
		// where the details are missing the words after it.
		{From: 429, To: 429, InBody: true, Limits: []string{"permodel"}, Says: []string{"quota exceeded for metric…model: "}, Class: fault.ModelLimited},
		{From: 429, To: 429, InBody: true, Says: []string{"exceeded your current quota"}, Class: fault.RateLimited},
		// R5 before R7. The project's billing was turned off.
		{From: 403, To: 403, InBody: true, Codes: []string{"billing_disabled"}, Class: fault.Quota},
		// R10 before R7. What the caller's request names is not there, or another project's; the key is good.
		{From: 403, To: 403, InBody: true, Says: []string{
			"cachedcontent not found", "permission to access the file…or it may not exist",
		}, Class: fault.Rejected},
	}
}

// readModels reads one page of GET /models. Models that can be asked for nothing that has a route here are left out.
func readModels(body []byte) (ids []string, next string, err error) {
	var page struct {
		Models *[]struct {
			Name    string   `json:"name"`
			Methods []string `json:"supportedGenerationMethods"`
		} `json:"models"`
		Next string `json:"nextPageToken"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, "", err
	}
	if page.Models == nil {
		return nil, "", errors.New("no models")
	}
	for _, m := range *page.Models {
		if m.Methods == nil || slices.ContainsFunc(m.Methods, hasRoute) {
			ids = append(ids, strings.TrimPrefix(m.Name, "models/"))
		}
	}
	if page.Next != "" {
		next = "/models?pageSize=1000&pageToken=" + url.QueryEscape(page.Next)
	}
	return ids, next, nil
}

func hasRoute(method string) bool {
	return method == "generateContent" || method == "embedContent" || method == "batchEmbedContents"
}
