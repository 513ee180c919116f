package provider

import (
	"bytes"
	"io"
	"net/http"
)

// payCallers writes the caller's own key into a request (R8), where the provider has its keys; whoever signs requests, or
// fetches tokens for them, takes it as a bearer token.
func (c *Client) payCallers(req *http.Request, key string) {
	req.Header[c.authHeader] = []string{c.authPrefix + key}
}

// maxRefusal is how much of a refusal is read to take a key out of it, in bytes. The rest is left out.
const maxRefusal = 1 << 20

// hideKey takes the caller's key, whole or in parts, out of a refusal, when that is read. Nobody but the request knows the
// key, so that the provider's own masker cannot.
func hideKey(resp *http.Response, key string) {
	resp.Body = &hidden{body: resp.Body, key: Secret(key)}
	resp.ContentLength = -1
	delete(resp.Header, "Content-Length")
}

type hidden struct {
	body io.ReadCloser
	key  Secret
	text *bytes.Reader // nil: nothing was read yet
	err  error         // how reading ended
}

func (h *hidden) Read(p []byte) (int, error) {
	if h.text == nil {
		whole, err := io.ReadAll(io.LimitReader(h.body, maxRefusal))
		h.err = err
		h.text = bytes.NewReader(newMasker([]Secret{h.key}).bytes(whole))
	}
	if h.text.Len() == 0 {
		if h.err != nil {
			return 0, h.err
		}
		return 0, io.EOF
	}
	return h.text.Read(p)
}

func (h *hidden) Close() error { return h.body.Close() }
