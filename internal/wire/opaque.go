package wire

import "evergate/internal/fault"

// Opaque is an operation that only providers of the client's own dialect have, and whose answers the gateway passes on
// without understanding them: pictures, sound, verdicts. Where Request.Raw is set the answer is not even JSON. Such a request
// cannot be decoded, so that no second attempt is started beside another (R71): each would be paid for.
type Opaque interface {
	Dialect
	// JudgeRaw says what is wrong with an answer that is no JSON, by its content type and its first bytes (R14).
	JudgeRaw(contentType string, head []byte) *fault.Fault
}

// Former is a dialect that takes forms (multipart/form-data) beside JSON, files included.
type Former interface {
	Dialect
	// ReadForm is ReadRequest for a form; contentType has its boundary. The error is a *RequestError.
	ReadForm(body []byte, contentType string) (Request, error)
}
