package gemini

import (
	"fmt"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// readGenerate reads a request in one pass.
func readGenerate(body []byte) (wire.Request, error) {
	q := wire.Request{Body: body, AskedUsage: true}
	contents := jsonscan.None
	err := walk(&q, func(key string, r *jsonscan.Reader) {
		switch key {
		case "contents":
			contents = r.Kind()
			q.Spans.PlaceTurns(r, 4) // a blob or file is an object in its part
		case "generationConfig":
			readCandidateCount(&q, r)
		default:
			r.Skip()
		}
	})
	switch {
	case err != nil:
		return q, err
	case contents == jsonscan.None || contents == jsonscan.Null:
		return q, &wire.RequestError{Param: "contents", Message: `"contents" is missing: send the conversation, such as [{"role": "user", "parts": [{"text": "Hello"}]}]`}
	case contents != jsonscan.Array:
		return q, wire.WrongKind("contents", "an array of contents", contents)
	}
	return q, nil
}

func readCandidateCount(q *wire.Request, r *jsonscan.Reader) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(camel(key)) != "candidateCount" {
			r.Skip()
			continue
		}
		if n, ok := whole(r.Raw()); ok {
			q.Choices = int(min(max(n, 0), 64))
		}
	}
}

// readCount reads a request to count tokens.
func readCount(body []byte) (wire.Request, error) {
	return readOneOf(body, "contents", "generateContentRequest")
}

// readOneOf checks that a request has one of two members, and notes whether a model is named further in.
func readOneOf(body []byte, names ...string) (wire.Request, error) {
	q := wire.Request{Body: body}
	found := false
	err := walk(&q, func(key string, r *jsonscan.Reader) {
		for _, n := range names {
			if key == n && r.Kind() != jsonscan.Null {
				found = true
				q.Spans.Again = true
			}
		}
		r.Skip()
	})
	if err == nil && !found {
		err = &wire.RequestError{Param: names[0], Message: fmt.Sprintf("%q is missing", names[0])}
	}
	return q, err
}

// walk goes over the members of a request and finds the place of its model.
func walk(q *wire.Request, read func(key string, r *jsonscan.Reader)) error {
	r := jsonscan.New(q.Body)
	if r.Kind() != jsonscan.Object {
		return wire.NoObject(q.Body)
	}
	r.Object()
	q.Spans.Insert, q.Spans.Empty = r.Offset(), true
	var named wire.Naming
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		q.Spans.Empty = false
		if name := string(camel(key)); name != "model" {
			q.Prefers = q.Prefers || name == "provider" || name == "models"
			named.Other(key)
			read(name, &r)
			continue
		}
		named.Read(q, &r)
	}
	if !r.End() {
		return wire.NoJSON(q.Body, r.Err())
	}
	return named.Unlike()
}
