// Package azure is the vendor of OpenAI's models on Azure: its v1 API and the older one of deployments, keys and
// Microsoft Entra ID, and the words of its errors. A model's id is the name of a deployment, which users choose. The
// package must not know how requests travel or what they say.
package azure

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/provider"
	"evergate/internal/wire"
)

// Options describe one resource.
type Options struct {
	// APIVersion is the api-version of the deployments' API, such as 2024-10-21. Empty is the v1 API, which may be given
	// preview or latest.
	APIVersion string
	// API is as in openai.Options: auto (or empty), chat, responses.
	API string
	// Entra is the application whose token is sent where a credential has no key.
	Entra provider.Entra
	// HTTP asks for tokens (provider.NewHTTPClient); needed with Entra.
	HTTP *http.Client
	// Authority is where tokens are asked for; empty: https://login.microsoftonline.com.
	Authority string
}

// What the dated API has learned: OpenAI's responses, the developer's role, and the newer name of the output limit.
const (
	sinceResponses           = "2025-03-01"
	sinceDeveloper           = "2024-12-01"
	sinceMaxCompletionTokens = "2024-09-01"
)

// New makes the vendor. The base URL ends with /openai. The error is about Entra.
func New(o Options) (*provider.Vendor, error) {
	a := &api{version: o.APIVersion}
	a.spoken = provider.Spoken(o.API, "completions", "embeddings", "images", "image_edits", "speech", "transcriptions", "translations")
	a.dated = o.APIVersion != "" && o.APIVersion[0] >= '0' && o.APIVersion[0] <= '9'
	if o.APIVersion != "" && o.APIVersion != "v1" {
		a.query = "api-version=" + url.QueryEscape(o.APIVersion)
	}
	v := &provider.Vendor{
		Name:       "azure-openai",
		AuthHeader: "Api-Key",
		Speaks:     a.speaks,
		Maker:      func(string) llm.Vendor { return llm.OpenAI },
		Quirks:     a.quirks,
		Place:      a.place,
		Stores:     a.stores,
		Faults:     faults(),
		Models:     &provider.ModelList{}, // there is a list of models, but none of deployments
	}
	if o.Entra != (provider.Entra{}) {
		if o.Entra.TenantID == "" || o.Entra.ClientID == "" || o.Entra.ClientSecret == "" {
			return nil, errors.New("entra needs a tenant, a client id and a client secret")
		}
		v.Authorize = authorize(&o)
	}
	return v, nil
}

// api is which of Azure's two APIs is spoken.
type api struct {
	// dated: the one of deployments, of which there is a version for many a date.
	dated          bool
	version, query string
	spoken         func(auto []string) []string
}

// since says whether the API has what the dated one has had since a version.
func (a *api) since(version string) bool { return !a.dated || a.version >= version }

// place says where a deployment is asked. Responses name it in their body in both APIs.
func (a *api) place(dialect, deployment string, _ bool) (path, query string) {
	switch dialect {
	case "chat":
		path = "/chat/completions"
	case "completions", "embeddings", "responses":
		path = "/" + dialect
	case "images", "image_edits", "speech", "transcriptions", "translations":
		path = provider.Aside(dialect)
	default:
		return "", ""
	}
	switch {
	case !a.dated:
		path = "/v1" + path
	case dialect != "responses":
		path = "/deployments/" + url.PathEscape(deployment) + path
	}
	return path, a.query
}

// stores says where the resource keeps files and batches.
func (a *api) stores(kind string) (path, query string) {
	if a.dated {
		return "/" + kind, a.query
	}
	return "/v1/" + kind, a.query
}

// speaks goes by the deployment's name, which often is the model's.
func (a *api) speaks(deployment string) []string {
	auto := []string{"chat"}
	if a.since(sinceResponses) {
		auto = provider.ReadOpenAIModel(deployment).Speaks()
	}
	return a.spoken(auto)
}

// quirks are OpenAI's where the deployment's name tells of one of its newer models. Of others nothing is known: they
// take the newer name of the output limit in the v1 API and the older one before it, but for the models of other
// makers, which know the older one alone.
func (a *api) quirks(deployment string) wire.Quirks {
	q := provider.ReadOpenAIModel(deployment).Quirks()
	if q.Refuses == nil && (a.dated || foreign(deployment)) || !a.since(sinceMaxCompletionTokens) {
		q.MaxTokensField = "max_tokens"
	}
	if a.dated { // learned late or never, and there is another way to say the same
		q.CustomTools = false
		q.DeveloperRole = q.DeveloperRole && a.since(sinceDeveloper)
	}
	return q
}

// foreign says whether a deployment's name tells of a model of another maker.
func foreign(deployment string) bool {
	name := strings.ToLower(deployment)
	for _, family := range [...]string{"deepseek", "grok", "mistral", "mixtral", "ministral", "codestral", "llama", "phi-", "kimi", "qwen", "cohere", "command-", "jais"} {
		if strings.Contains(name, family) {
			return true
		}
	}
	return false
}

// faults stand before the common table.
func faults() []provider.Entry {
	return []provider.Entry{
		// R5 before the next.
		{From: 429, To: 429, InBody: true, Codes: []string{"insufficient_quota", "quotaexceeded"}, Class: fault.Quota},
		// R6 instead of R4. Every limit is of one deployment: others of the resource go on with the same key.
		{From: 429, To: 429, Class: fault.ModelLimited},
		{From: 0, To: 0, InBody: true, Codes: []string{"rate_limit_exceeded", "rate_limit_error", "too_many_requests"}, Says: []string{"exceeded…rate limit"}, Class: fault.ModelLimited},
	}
}
