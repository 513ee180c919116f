package wire

import (
	"bytes"
	"strconv"
	"strings"

	"evergate/internal/jsonscan"
)

// Naming is what the members of a body say of the request's model, while they are read. The zero value is of a body that was not
// begun.
type Naming struct {
	// Model and Models are what the last members of these names are; None: there is none.
	Model, Models jsonscan.Kind

	alike []byte // a key that some upstreams take for "model"
}

// Read reads the value of "model", of which there may be more than one.
func (n *Naming) Read(q *Request, r *jsonscan.Reader) {
	q.Spans.Again = q.Spans.Again || n.Model != jsonscan.None
	n.Model = r.Kind()
	from := r.Offset()
	q.Model, _ = r.Text()
	q.Spans.Model = Span{From: from, To: r.Offset()}
}

// Other notes a key that is neither of the two.
func (n *Naming) Other(key []byte) {
	if len(key) == len("model") && n.alike == nil && bytes.EqualFold(key, []byte("model")) {
		n.alike = key
	}
}

// Check refuses a request without the name of a model, of which example is one. Where "models" is there and "model" is not,
// its first is the model: the request has an empty Model then, which prefer gives it. The error is a *RequestError.
func (n *Naming) Check(model, example string) error {
	if err := n.Unlike(); err != nil {
		return err
	}
	switch {
	case n.Silent():
		return &RequestError{
			Param: "model", Message: `"model" is missing, and so is "models": name the model to use, such as {"model": "` + example + `"}`,
		}
	case none(n.Model):
		return nil
	case n.Model != jsonscan.String:
		return WrongKind("model", "a string", n.Model)
	case strings.TrimSpace(model) == "":
		return &RequestError{Param: "model", Message: `"model" is empty: name the model to use`}
	}
	return nil
}

// Silent says that there is neither of the two, or null alone.
func (n *Naming) Silent() bool { return none(n.Model) && none(n.Models) }

func none(k jsonscan.Kind) bool { return k == jsonscan.None || k == jsonscan.Null }

// Unlike refuses a key that differs from "model" in the case of its letters alone: some upstreams take it for "model", and
// would be asked for a model that nobody looked at here. The error is a *RequestError.
func (n *Naming) Unlike() error {
	if n.alike == nil {
		return nil
	}
	name := string(n.alike)
	return &RequestError{Param: name, Message: strconv.Quote(name) + ` is not known: write "model" in small letters`}
}
