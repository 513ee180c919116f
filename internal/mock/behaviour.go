package mock

import (
	"net/http"
	"time"
)

// Script is what a provider does. The zero Script answers everything at once. It is not changed by a Provider.
type Script struct {
	// Name is spoken in answers, to tell providers apart.
	Name string
	// Seed is of the rules' probabilities.
	Seed uint64
	// Models are listed by GET /v1/models; any other is a 404. With none, every model is served.
	Models []string
	// Keys are accepted; any other is a 401. With none, all are accepted.
	Keys []string
	// Lenient leaves out the checks by which the real APIs refuse a request that can be read.
	Lenient bool
	// Replay is a directory of recordings; empty for none.
	Replay string
	// Defaults is the behaviour where no rule matches.
	Defaults Behaviour
	// Rules are asked in order; the first that matches decides.
	Rules []Rule
}

// Rule is a behaviour and the requests it is for. Fields that are not set match anything, but for Path: without it
// the rule never matches GET /models.
type Rule struct {
	Name   string
	Model  string // exact, or with * for any run of characters
	Path   string // below the version segment, * allowed
	Key    string // the credential as sent
	Stream Want
	// Schedule: the rule holds in its down phases, counted from the start of the provider.
	Schedule Schedule
	// Nth counts the requests that matched all of the above.
	Nth Nth
	// Probability is from 0 to 1; 0 is not set.
	Probability float64
	// Do replaces Script.Defaults as a whole. (In a YAML script it starts from them.)
	Do Behaviour
}

// Behaviour is what happens to one request. The zero Behaviour is a normal answer at once. The package comment says
// what each field does; of Hang, Reset, Cut, EOF and Error at most one is set.
type Behaviour struct {
	Latency    time.Duration
	FirstToken time.Duration
	ChunkDelay time.Duration
	Keepalive  time.Duration
	Chunks     int
	ChunkSize  int
	Text       string

	Status      int
	Code        string
	Type        string
	Message     string
	Header      http.Header
	RetryAfter  string
	Body        string
	ContentType string
	// Replay is the name of a recording below Script.Replay.
	Replay string

	Hang, Reset, Cut, EOF, Error Point

	Malformed int
	Noise     int
	Prefill   Prefill
	NoDone    bool
	NoFinish  bool
	Empty     bool
	HTML      bool
	Gzip      bool
	As        Form
}

// Form is the shape of an answer.
type Form uint8

// The forms of an answer; AsAsked is what the request asked for.
const (
	AsAsked Form = iota
	JSON
	Stream
)

// Prefill is what an answer does with a conversation that ends in the model's own words.
type Prefill uint8

// The ways to take words of the model's own at the end of a conversation.
const (
	Restart  Prefill = iota // the answer begins anew
	Continue                // the answer goes on from them, where they are how it begins
	Refuse                  // a 400: such a conversation is not taken
)

// Want is a condition on a request's "stream".
type Want uint8

// The conditions on a request's "stream".
const (
	Either Want = iota
	Streamed
	Plain
)

func (b *Behaviour) status() int {
	if b.Status == 0 {
		return http.StatusOK
	}
	return b.Status
}

// pointFaults are the faults that happen at a point, by their keys.
func (b *Behaviour) pointFaults() map[string]*Point {
	return map[string]*Point{"hang": &b.Hang, "reset": &b.Reset, "cut": &b.Cut, "eof": &b.EOF, "error": &b.Error}
}

// clamp makes points beyond the last of n content chunks mean the last one, so that a fault is never missed.
func (b *Behaviour) clamp(n int) {
	for _, p := range b.pointFaults() {
		*p = min(*p, After(n))
	}
}
