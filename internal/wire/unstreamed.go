package wire

// Unstreamed is the half of a Dialect that is about streams, for operations that have none: counts and vectors.
type Unstreamed struct{}

// JudgeEvent says that nothing is an event.
func (Unstreamed) JudgeEvent([]byte, *Progress) Event { return Event{Malformed: true} }

// AppendEnd appends nothing.
func (Unstreamed) AppendEnd(dst []byte, _ *Progress) []byte { return dst }

// AppendStreamError appends nothing.
func (Unstreamed) AppendStreamError(dst []byte, _ Failure) []byte { return dst }

// StreamFromReply is an error.
func (Unstreamed) StreamFromReply([]byte, bool) ([]byte, error) {
	return nil, Invalid("this operation is not streamed")
}

// ReplyFromStream is an error.
func (Unstreamed) ReplyFromStream([]byte) ([]byte, error) {
	return nil, Invalid("this operation is not streamed")
}
