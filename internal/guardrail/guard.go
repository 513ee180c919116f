package guardrail

import (
	"context"
	"time"
)

// Phase says which way words go.
type Phase uint8

// The phases.
const (
	Request  Phase = iota + 1 // from a client to providers
	Response                  // from a provider to the client
)

// String is the phase in logs and metrics.
func (p Phase) String() string {
	if p == Response {
		return "response"
	}
	return "request"
}

// Kind says what a text is.
type Kind uint8

// The kinds of a text.
const (
	// Words are what people and models say to each other: prompts, answers, thoughts, tools' results.
	Words Kind = iota + 1
	// Arguments are a tool call's, as JSON text, or its free text.
	Arguments
	// Label is a short word that is part of the request's form: a role, an id, a type; or the name of a member that is no plain word.
	Label
	// Number is a long whole number, in digits.
	Number
)

// Text is one text on its way.
type Text struct {
	Kind Kind
	// Value may be replaced by another one; its bytes must not be changed. It is no longer than the call unless copied.
	Value []byte
}

// Passage is what a guard is to judge: all texts of a request, or of a plain answer, or one window of a stream's text.
type Passage struct {
	Phase Phase
	About
	Texts []Text
	// Window: the texts are one piece of a longer one, and Before is the end of what stood before it.
	Window bool
	Before []byte
}

// About says whose request it is.
type About struct {
	RequestID string
	// Model is the name that the client asked for.
	Model string
	// Key and Team are the caller's by name; empty: it has none.
	Key, Team string
}

// Action is what a guard decides.
type Action uint8

// The actions.
const (
	Allow   Action = iota // as it is
	Replace               // as the texts are now
	Block                 // not at all
)

// Verdict is a guard's decision. The client is told Reason where it is blocked; it must hold nothing of the text that the client may not know.
type Verdict struct {
	Action Action
	Reason string
}

// Guard judges texts. It is called on the request's way, from many goroutines at once; ctx ends when the client leaves, or when the
// guard's time is up. An error is no verdict: the guard could not tell, and what follows is the configuration's to say (fail: open or
// closed). The error is logged: no text and no credential may be in it.
type Guard interface {
	Check(ctx context.Context, p *Passage) (Verdict, error)
}

// Follower is a guard that follows the text of a stream as it comes, in place of judging windows of it.
type Follower interface {
	Guard
	// Follow begins with one text of an answer.
	Follow() Listener
}

// Listener follows one text. Its methods append to dst what may go out.
type Listener interface {
	// Hear takes more of the text.
	Hear(dst, piece []byte) ([]byte, Verdict)
	// End lets out what was held back: the text is over.
	End(dst []byte) ([]byte, Verdict)
}

// Named is a guard as it is configured.
type Named struct {
	Name  string
	Guard Guard
	// Mark is another word whenever the guard is another one: answers that are kept are those of one guard.
	Mark string
	// OnRequest and OnResponse say what it judges.
	OnRequest, OnResponse bool
	// FailOpen: what it cannot judge passes; else it does not.
	FailOpen bool
	// Timeout bounds one call of Check; 0: nothing does.
	Timeout time.Duration
	// Every is how many bytes of a stream's text are judged at a time; 0: all of a text, at its end. A [Follower] needs neither.
	Every int
}
