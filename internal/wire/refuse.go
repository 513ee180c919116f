package wire

import (
	"errors"
	"fmt"

	"evergate/internal/jsonscan"
)

// WrongKind refuses a request for a field that is not what it must be, such as "an array of messages". The error is a
// *RequestError.
func WrongKind(param, want string, got jsonscan.Kind) error {
	return &RequestError{Param: param, Message: fmt.Sprintf("%q must be %s, not %s", param, want, got)}
}

// NoObject refuses a request whose body is no JSON object. The error is a *RequestError.
func NoObject(body []byte) error {
	r := jsonscan.New(body)
	kind := r.Kind()
	if kind == jsonscan.None && r.Offset() == len(body) {
		return &RequestError{Message: "the body is empty: send a JSON object"}
	}
	r.Skip()
	if !r.End() {
		return NoJSON(body, r.Err())
	}
	return &RequestError{Message: "the body must be a JSON object, not " + kind.String()}
}

// NoJSON refuses a request whose body breaks off or is no JSON; err is the reader's. The error is a *RequestError.
func NoJSON(body []byte, err error) error {
	var syntax *jsonscan.SyntaxError
	if !errors.As(err, &syntax) {
		return &RequestError{Message: "the body is not valid JSON"}
	}
	line, column := jsonscan.Position(body, syntax.Offset)
	return &RequestError{Message: fmt.Sprintf("the body is not valid JSON: line %d, column %d (byte %d): %s",
		line, column, syntax.Offset, syntax.Msg)}
}

// CheckStream refuses a request whose "stream" is neither a boolean nor absent; kind is what it was in the body. The
// error is a *RequestError.
func CheckStream(kind jsonscan.Kind) error {
	switch kind {
	case jsonscan.None, jsonscan.Null, jsonscan.Bool:
		return nil
	case jsonscan.Object, jsonscan.Array, jsonscan.String, jsonscan.Number:
	}
	return WrongKind("stream", "true or false", kind)
}
