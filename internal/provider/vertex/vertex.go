// Package vertex is Google's models and Anthropic's on Vertex AI: the same dialects as at their makers', in other places,
// paid with access tokens of a Google account or with API keys. It knows where things are and how tokens are got; what the
// bodies say is the dialects'.
package vertex

import (
	"errors"
	"net/http"
	"strings"

	"evergate/internal/llm"
	"evergate/internal/provider"
)

// The dialects (wire.Dialect names) that Vertex speaks.
const (
	generate     = "gemini"
	countTokens  = "gemini_count_tokens"
	embed        = "vertex_embed"
	messages     = "messages"
	claudeTokens = "count_tokens"
	chat         = "chat"
)

// Options are what is particular to one project.
type Options struct {
	// Project and Location are where models are asked; the base URL's host must be the location's. Both are empty with
	// APIKeys.
	Project, Location string
	// APIKeys: the provider's credentials are Google Cloud API keys. With those there are Google's own models only, and
	// no project or location in the paths.
	APIKeys bool
	// CredentialsFile is a JSON key file of a service account, or any other that Google's libraries read; empty:
	// application default credentials.
	CredentialsFile string
	// HTTP asks for tokens; nil: one without anything particular.
	HTTP *http.Client
}

// New makes the vendor. It reads and checks the credentials file, so that a mistake shows at once, and opens no
// connection: application default credentials are looked for by the first request. The error holds no secret.
func New(o Options) (*provider.Vendor, error) {
	p := places{project: o.Project, location: o.Location}
	v := &provider.Vendor{
		Name: "vertex", Speaks: p.speaks, Maker: maker, Place: p.place, Header: header, Body: body, OmitModel: omitModel, Faults: faults(),
		Models: &provider.ModelList{}, // the list of Google's own models would say nothing of those that a project may use
	}
	if o.APIKeys {
		v.AuthHeader = "X-Goog-Api-Key"
		return v, nil
	}
	if o.Project == "" || o.Location == "" {
		return nil, errors.New("a project and a location are needed")
	}
	a := &account{file: o.CredentialsFile, client: o.HTTP}
	if o.CredentialsFile != "" {
		if _, _, err := readKey(o.CredentialsFile); err != nil {
			return nil, err
		}
	}
	a.tokens = provider.NewTokens(a.fetch)
	v.Authorize = a.authorize
	return v, nil
}

// maker is who made a model; of the others' models no seals are known.
func maker(model string) llm.Vendor {
	switch {
	case strings.HasPrefix(model, "claude-"):
		return llm.Anthropic
	case strings.HasPrefix(model, "gemini-"), strings.HasPrefix(model, "google/"), strings.HasPrefix(model, "endpoints/"),
		strings.HasPrefix(model, "text-embedding-"), strings.HasPrefix(model, "text-multilingual-embedding-"):
		return llm.Google
	}
	return ""
}

// places are the paths of a project; without a project those of API keys.
type places struct{ project, location string }

// speaks lists the dialects of a model. Ids with a publisher (meta/…) are asked by Vertex' OpenAI-compatible route;
// endpoints/… is a tuned model of one's own.
func (p places) speaks(model string) []string {
	switch {
	case p.project == "" && (strings.HasPrefix(model, "claude-") || isEmbedding(model) || strings.Contains(model, "/")):
		return nil // only with an account
	case strings.HasPrefix(model, "claude-"):
		return []string{messages, claudeTokens}
	case isEmbedding(model):
		return []string{embed}
	case strings.Contains(model, "/") && !strings.HasPrefix(model, "endpoints/"):
		return []string{chat}
	}
	return []string{generate, countTokens}
}

func isEmbedding(model string) bool {
	return strings.HasPrefix(model, "text-embedding-") || strings.HasPrefix(model, "gemini-embedding-") ||
		strings.HasPrefix(model, "text-multilingual-embedding-")
}

// place says where a request goes; nowhere if the project has no such route.
func (p places) place(dialect, model string, stream bool) (path, query string) {
	root := ""
	if p.project != "" {
		root = "/projects/" + escape(p.project) + "/locations/" + escape(p.location)
	}
	google := root + "/publishers/google/models/" + escape(model)
	if id, ok := strings.CutPrefix(model, "endpoints/"); ok {
		google = root + "/endpoints/" + escape(id)
	}
	claude := root + "/publishers/anthropic/models/"
	switch dialect {
	case generate:
		if stream {
			return google + ":streamGenerateContent", "alt=sse"
		}
		return google + ":generateContent", ""
	case countTokens:
		return google + ":countTokens", ""
	case embed:
		return google + ":predict", ""
	case messages:
		if stream {
			return claude + escape(model) + ":streamRawPredict", ""
		}
		return claude + escape(model) + ":rawPredict", ""
	case claudeTokens:
		return claude + "count-tokens:rawPredict", "" // its body names the model
	case chat:
		return root + "/endpoints/openapi/chat/completions", ""
	}
	return "", ""
}

// escape makes one path segment of an id; "@" and the like, which ids have, stay as they are.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~@", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// header leaves out the version of Anthropic's API, which Vertex takes in the body.
func header(out http.Header, dialect string) {
	if dialect == messages || dialect == claudeTokens {
		delete(out, "Anthropic-Version")
	}
}

// omitModel: the path names the model. Token counts for Claude all go to one path, and name it in the body.
func omitModel(dialect, _ string) bool { return dialect == messages || dialect == countTokens }
