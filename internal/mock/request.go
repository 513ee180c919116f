package mock

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
)

// maxRequest is the longest request body that is read, in bytes.
const maxRequest = 64 << 20

// request is what the simulation reads of a request.
type request struct {
	talk

	dialect dialect
	op      operation
	method  string
	path    string
	// resource is what the path names: a response, or one of the models.
	resource string
	// azure and vertex: the host that speaks the dialect has ways of its own.
	azure, vertex bool
	key           string
	header        http.Header
	query         url.Values
	body          []byte
	root          node
	// refusal is what a real provider would answer to it in place of a normal reply.
	refusal *apiError
}

// readRequest reads a request to its end. The error is that of the connection; what is wrong with the request itself
// is its refusal.
func readRequest(r *http.Request) (*request, error) {
	q := &request{method: r.Method, path: r.URL.Path, key: credential(r), header: r.Header, query: r.URL.Query()}
	if r.Body != nil {
		var err error
		if q.body, err = io.ReadAll(io.LimitReader(r.Body, maxRequest+1)); err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
	}
	q.route()
	q.refusal = q.look()
	return q, nil
}

// look finds what the request asks for, or why it cannot be served.
func (q *request) look() *apiError {
	if q.op == opNone {
		return &apiError{Status: http.StatusNotFound, Message: fmt.Sprintf("Unknown request URL: %s %s.", q.method, q.path)}
	}
	if !slices.Contains(q.op.methods(), q.method) {
		return &apiError{Status: http.StatusMethodNotAllowed, Message: fmt.Sprintf("Not allowed to %s on %s.", q.method, q.path)}
	}
	if q.op == opModels || q.op == opStored {
		return nil
	}
	if len(q.body) > maxRequest {
		return &apiError{Status: http.StatusRequestEntityTooLarge, Message: "The request is too large."}
	}
	return q.dialect.read(q)
}

// parse reads the body as an object, for dialects.
func (q *request) parse(refusal string) *apiError {
	n, err := parseNode(q.body)
	if err != nil || n.kind() != isObject {
		return badRequest("%s", refusal)
	}
	q.root = n
	return nil
}
