package drill

import "time"

// Why a drill ended.
const (
	Stopped    = "stopped"     // an operator said so
	TimeUp     = "time"        // its end had come
	Spent      = "budget"      // so many attempts have met its fault
	UserErrors = "user_errors" // so many client requests have failed
)

// End is how a drill ended. The zero End: it has not.
type End struct {
	Why    string
	At     time.Time
	Reason string // an operator's words
	By     string // who stopped it; empty: it ended by itself
}

// State is a drill as the fleet has it: its rule, and whether it goes on.
type State struct {
	Rule Rule
	End  End
}

// Over says whether the drill has ended.
func (s State) Over() bool { return s.End.Why != "" }

// Counts are what came of a drill, on one instance or on several.
type Counts struct {
	// Injected are attempts that met the fault.
	Injected int64 `json:"injected"`
	// Requests are client requests with such attempts, at their end: Answered by an attempt that had met it all the same (it was late, or
	// its end marker was missing), Rescued by another one, Failed, or left by their client.
	Requests int64 `json:"requests"`
	Answered int64 `json:"answered"`
	Rescued  int64 `json:"rescued"`
	Failed   int64 `json:"failed"`
	Left     int64 `json:"left"`
	// AddedMS is how long attempts that met it kept those requests that were answered, in ms.
	AddedMS int64 `json:"added_ms"`
	// Blocks are transitions of guards to open or blocked that requests brought about which had met it.
	Blocks int64 `json:"blocks"`
}

// Add adds others.
func (c *Counts) Add(o Counts) {
	c.Injected += o.Injected
	c.Requests += o.Requests
	c.Answered += o.Answered
	c.Rescued += o.Rescued
	c.Failed += o.Failed
	c.Left += o.Left
	c.AddedMS += o.AddedMS
	c.Blocks += o.Blocks
}
