package journal

// Bodies are the beginnings of what a client sent and of what it got, as they came and went: credentials may be in them. There are
// none unless the config has them kept (log.bodies).
type Bodies struct {
	Request, Response Copy
	// Limit is how many bytes of each may be kept, once nothing is left in them that must not be.
	Limit int
}

// Overlap is how many bytes more than Limit are copied, so that what must not be kept is known also where the limit cuts it.
const Overlap = 8 << 10

// Copy is the beginning of a body.
type Copy struct {
	// Kind is its content type, as it was said.
	Kind string
	// Binary: it is no text, and nothing of it is copied.
	Binary bool
	// Text is as much of it as Limit and Overlap let through; Size is how long all of it was, in bytes.
	Text []byte
	Size int64
}

// Bytes is how much memory they take.
func (b *Bodies) Bytes() int64 {
	if b == nil {
		return 0
	}
	return int64(cap(b.Request.Text)) + int64(cap(b.Response.Text))
}
