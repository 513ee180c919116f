package llm

// Stop is why an answer ended.
type Stop uint8

// The reasons. Unstopped is an answer that has not ended: it must never be reported as one that has.
const (
	Unstopped     Stop = iota
	EndTurn            // it said what it had to say
	Length             // the token limit
	ToolUse            // tools were called
	StopSequence       // one of the request's stop sequences
	ContentFilter      // the provider's filter cut it
	Refused            // the model refused
	Paused             // a server tool's turn is not over; send the answer back to go on
	ContextFull        // the model's window is full
	OtherStop          // a reason that nobody knows yet
)

// Usage counts tokens. Input holds cached and cache-written tokens too, Output the reasoning.
type Usage struct {
	Known                                                                      bool
	Input, Output, CachedInput, CacheWrite, Reasoning, AudioInput, AudioOutput int64
}

// MaxTokens is the largest count that is believed: an upstream may say any number, and those of an answer are added up.
const MaxTokens = 1 << 50

// Reply is one whole answer.
type Reply struct {
	ID    string
	Model string
	// Created is in seconds since 1970; 0: unsaid.
	Created     int64
	Choices     []Choice
	Usage       Usage
	ServiceTier string
}

// Choice is one of the answers.
type Choice struct {
	Content []Part
	Stop    Stop
	// StopText is the stop sequence that was met, or the upstream's word for an OtherStop.
	StopText string
	// LogProbs is raw JSON in the form of chat completions' logprobs.content (an array); empty: none.
	LogProbs []byte
}

// EventKind says which fields of an Event hold.
type EventKind uint8

// The kinds of events. A stream of one choice is Start (PartStart Delta* PartStop)* Finish, with Usage anywhere between
// Start and the end. Decoders may let parts overlap, and may leave out PartStop; Order mends both.
const (
	// Start: ID, Model, Created. Once, first.
	Start EventKind = iota + 1
	// PartStart: Choice, Part, Head (kind, call id and name; no text).
	PartStart
	// Delta: Choice, Part, Text: more of the part's text, arguments, refusal, or base64 audio.
	Delta
	// Sealing: Choice, Part, Seal: the part's seal; it comes before the part's stop.
	Sealing
	// Cited: Choice, Part, Citation.
	Cited
	// Probs: Choice, LogProbs: those of the next or last piece of text.
	Probs
	// PartStop: Choice, Part.
	PartStop
	// Finish: Choice, Stop, StopText. Once for each choice.
	Finish
	// Used: Usage: all of it so far, not an addition.
	Used
	// Alive says only that the upstream lives.
	Alive
)

// Event is one step of a streamed answer. Slices and pointers hold until the function that was given the event returns.
type Event struct {
	Kind   EventKind
	Choice int
	// Part tells the parts of a choice apart. After Order they are numbered from 0 without gaps.
	Part     int
	Head     *Part
	Text     []byte
	Seal     *Seal
	Citation *Citation
	LogProbs []byte
	Stop     Stop
	StopText string
	Usage    Usage

	ID, Model string
	Created   int64
	// ServiceTier belongs to Start and Finish; empty: unsaid.
	ServiceTier string
}
