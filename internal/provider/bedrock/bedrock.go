// Package bedrock is Amazon Bedrock's runtime: the Converse API for conversations and InvokeModel for vectors, with
// signed requests (SigV4) or Bedrock's own API keys, and its binary event stream. It knows where things are, how they
// are paid and what Bedrock's errors mean; what a Converse body says is a dialect's.
package bedrock

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"evergate/internal/llm"
	"evergate/internal/provider"
)

// The dialects (wire.Dialect names) that Bedrock speaks.
const (
	converse    = "converse"
	titanEmbed  = "titan_embed"
	novaEmbed   = "nova_embed"
	cohereEmbed = "bedrock_cohere_embed"
)

// Options are what is particular to one account and region.
type Options struct {
	// Region is signed for; it may be empty with Bearer.
	Region string
	// Bearer: the provider's credentials are Bedrock API keys, which are sent as any other key is. Nothing is signed.
	Bearer bool
	// AccessKeyID, SecretAccessKey and, for temporary ones, SessionToken are credentials that never change. Without
	// them the AWS default chain is asked: environment, shared files, SSO, web identity, container, instance.
	AccessKeyID                   string
	SecretAccessKey, SessionToken provider.Secret
	// Profile is the shared files' profile that the chain begins with; empty: AWS_PROFILE, or default.
	Profile string
}

// New makes the vendor. It opens no connection and reads no file: where credentials come from is found out by the first
// request. The error is about what is missing and holds no secret.
func New(o Options) (*provider.Vendor, error) {
	v := &provider.Vendor{
		Name: "bedrock", Speaks: speaks, Maker: maker, Place: place, Header: header, Frame: frame, Code: code, Faults: faults(),
		Models: &provider.ModelList{}, // the list is the control plane's, on another host and with other permissions
	}
	if o.Bearer {
		return v, nil
	}
	if o.Region == "" {
		return nil, errors.New("no AWS region to sign requests for")
	}
	if (o.AccessKeyID == "") != (o.SecretAccessKey == "") {
		return nil, errors.New("an AWS access key is an id and a secret; one of the two is missing")
	}
	v.Authorize, v.SignsBody = newSigner(o).authorize, true
	return v, nil
}

// speaks lists the dialects of a model. Vectors go by InvokeModel, in the words of each maker; everything else converses.
func speaks(model string) []string {
	id := bare(model)
	switch {
	case strings.HasPrefix(id, "amazon.titan-embed-"):
		return []string{titanEmbed}
	case strings.HasPrefix(id, "amazon.nova-") && strings.Contains(id, "-embeddings"):
		return []string{novaEmbed}
	case strings.HasPrefix(id, "cohere.embed-"):
		return []string{cohereEmbed}
	case strings.Contains(id, "-embed"), strings.Contains(id, ".rerank-"):
		return nil // in words that no dialect has
	}
	return []string{converse}
}

// maker is who made a model, by the id's first word; of imported models and of profiles of one's own it is not known.
func maker(model string) llm.Vendor {
	name, _, _ := strings.Cut(bare(model), ".")
	switch name {
	case "anthropic":
		return llm.Anthropic
	case "amazon":
		return llm.Amazon
	case "cohere":
		return llm.Cohere
	case "openai":
		return llm.OpenAI
	case "google":
		return llm.Google
	}
	return ""
}

// geographies begin the ids of inference profiles, which are models by way of several regions.
var geographies = []string{"us.", "eu.", "apac.", "global.", "us-gov.", "jp.", "au.", "ca.", "sa.", "me.", "af."}

// bare is a model's own id: without the ARN that it may stand in, and without a profile's geography.
func bare(model string) string {
	if strings.HasPrefix(model, "arn:") {
		model = model[strings.LastIndexByte(model, '/')+1:]
	}
	for _, g := range geographies {
		if rest, ok := strings.CutPrefix(model, g); ok {
			return rest
		}
	}
	return model
}

// place says where a request goes.
func place(dialect, model string, stream bool) (path, query string) {
	action := "/invoke"
	switch {
	case dialect == converse && stream:
		action = "/converse-stream"
	case dialect == converse:
		action = "/converse"
	}
	return "/model/" + escape(model) + action, ""
}

// escape makes one path segment of an id. All but RFC 3986's unreserved characters are escaped, as AWS signs them: ids
// have colons, ARNs have slashes.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_', c == '~':
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// header leaves out what a client accepts of its own API: Bedrock answers in its own.
func header(out http.Header, _ string) { delete(out, "Accept") }

// frame turns a binary event stream into server-sent events and leaves every other body alone. Content decides, not the
// content type (R17): a proxy may have changed that.
func frame(h http.Header, body io.ReadCloser, stream bool) io.ReadCloser {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch media = strings.TrimSpace(media); {
	case strings.EqualFold(media, eventStream):
		h.Set("Content-Type", "text/event-stream")
		delete(h, "Content-Length")
		return newFrames(body)
	case stream && media != "application/json":
		return &undecided{body: body}
	}
	return body
}

// undecided is a body that its first byte tells of: a frame begins with its length, at most 16 MiB, and no text begins
// with such a byte. Not safe for concurrent use, but for Close.
type undecided struct {
	body io.ReadCloser
	is   io.Reader
}

// Read implements io.Reader.
func (u *undecided) Read(p []byte) (int, error) {
	if u.is == nil {
		first := make([]byte, 1)
		if _, err := io.ReadFull(u.body, first); err != nil {
			return 0, err
		}
		u.is = io.MultiReader(bytes.NewReader(first), u.body)
		if first[0] <= maxFrame>>24 {
			u.is = newFrames(io.NopCloser(u.is))
		}
	}
	return u.is.Read(p)
}

// Close closes the upstream's body.
func (u *undecided) Close() error { return u.body.Close() }
