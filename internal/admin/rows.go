package admin

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"evergate/internal/journal"
	"evergate/internal/ledger"
)

// millis is a duration in JSON: milliseconds, to the microsecond.
type millis time.Duration

// MarshalJSON implements json.Marshaler.
func (m millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(m).Microseconds())/1000, 'f', -1, 64), nil
}

// measured is a duration in JSON that is null where nothing was measured.
func measured(d time.Duration) *millis {
	if d <= 0 {
		return nil
	}
	m := millis(d)
	return &m
}

// usd is billionths of a dollar in JSON: dollars, to the last of them.
type usd int64

// MarshalJSON implements json.Marshaler.
func (u usd) MarshalJSON() ([]byte, error) {
	n, sign := uint64(u), "" //nolint:gosec // negated below
	if u < 0 {
		n, sign = -n, "-"
	}
	text := append([]byte(sign), strconv.FormatUint(n/1e9, 10)...)
	if part := n % 1e9; part != 0 {
		digits := strconv.FormatUint(part+1e9, 10)[1:] // with the zeros before them
		end := len(digits)
		for digits[end-1] == '0' {
			end--
		}
		text = append(append(text, '.'), digits[:end]...)
	}
	return text, nil
}

// money is a cost; null where a price is not known.
func money(c journal.Cost) *usd {
	if !c.Known {
		return nil
	}
	n := usd(c.Nano)
	return &n
}

// tokens are what a request or an attempt used.
type tokens struct {
	Input       int64 `json:"input"`
	Output      int64 `json:"output"`
	CachedInput int64 `json:"cached_input"`
	CacheWrite  int64 `json:"cache_write"`
	Reasoning   int64 `json:"reasoning"`
	Estimated   bool  `json:"estimated"`
}

func newTokens(u *journal.Usage, estimated bool) tokens {
	return tokens{u.Input, u.Output, u.CachedInput, u.CacheWrite, u.Reasoning, estimated}
}

// request is a request that ended, in lists and events.
type request struct {
	ID           string  `json:"id"`
	Row          string  `json:"row"`
	Instance     string  `json:"instance"`
	Start        Time    `json:"start"`
	Dialect      string  `json:"dialect"`
	Stream       bool    `json:"stream"`
	Key          string  `json:"key"`
	Asked        string  `json:"asked"`
	Route        string  `json:"route"`
	Provider     string  `json:"provider"`
	Model        string  `json:"model"`
	Status       int     `json:"status"`
	Code         string  `json:"code"`
	Duration     millis  `json:"duration_ms"`
	FirstContent *millis `json:"first_content_ms"`
	Overhead     millis  `json:"overhead_ms"`
	Attempts     int     `json:"attempts"`
	Rescued      bool    `json:"rescued"`
	Added        millis  `json:"added_ms"`
	AddedCost    *usd    `json:"added_cost_usd"`
	Tokens       tokens  `json:"tokens"`
	Cost         *usd    `json:"cost_usd"`
	Trail        string  `json:"trail"`
	Finish       string  `json:"finish"`
	Drill        string  `json:"drill"`
	Trace        string  `json:"trace_id"`
	Cache        string  `json:"cache"`
}

func newRequest(r *ledger.Request) request {
	out := request{
		ID: r.ID, Row: string(r.Row), Instance: r.Instance, Start: Time(r.Start), Dialect: r.Dialect, Stream: r.Stream, Key: r.Key, Asked: r.Asked,
		Route: r.Route, Provider: r.Provider, Model: r.Model, Status: r.Status, Code: r.Code, Duration: millis(r.Duration),
		FirstContent: measured(r.FirstContent), Overhead: millis(r.Overhead), Attempts: r.Attempts(), Rescued: r.Account.Rescued,
		Added: millis(r.Account.AddedTime), AddedCost: money(r.Account.AddedCost), Tokens: newTokens(&r.Usage, r.Estimated), Cost: money(r.Cost),
		Trail: string(journal.AppendTrail(nil, r.Request.Trail)), Finish: r.Finish, Drill: r.Drill, Cache: r.Cache,
	}
	if r.Trace.ID != [16]byte{} {
		out.Trace = hex.EncodeToString(r.Trace.ID[:])
	}
	return out
}

// detail is one request with all that is kept of it.
type detail struct {
	request
	Steps      []step      `json:"steps"`
	Candidates []candidate `json:"candidates"`
	Order      string      `json:"order"`
	Waits      millis      `json:"waits_ms"`
	Upstream   millis      `json:"upstream_ms"`
	Affinity   string      `json:"affinity"`
	Lost       []string    `json:"lost"`
	Guardrails []guarded   `json:"guardrails,omitempty"`
	Body       *bodies     `json:"body,omitempty"`
}

// guarded is what one guardrail did with the request.
type guarded struct {
	Name   string `json:"name"`
	Phase  string `json:"phase"`
	Action string `json:"action"`
}

type candidate struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	On       string `json:"on"`
}

type bodies struct {
	Request     string `json:"request"`
	Response    string `json:"response"`
	RequestCut  bool   `json:"request_cut"`
	ResponseCut bool   `json:"response_cut"`
}

// step is one entry of a trail.
type step struct {
	Provider     string  `json:"provider"`
	Model        string  `json:"model"`
	Credential   string  `json:"credential"`
	Skipped      bool    `json:"skipped"`
	Status       int     `json:"status"`
	Reason       string  `json:"reason"`
	Why          string  `json:"why"`
	Until        Time    `json:"until"`
	Offset       millis  `json:"offset_ms"`
	Duration     millis  `json:"duration_ms"`
	FirstContent *millis `json:"first_content_ms"`
	Tokens       tokens  `json:"tokens"`
	Cost         *usd    `json:"cost_usd"`
	Message      string  `json:"message"`
	Drill        string  `json:"drill"`
	Seam         int     `json:"seam"`
}

func newDetail(r *ledger.Request) detail {
	out := detail{
		request: newRequest(r), Steps: make([]step, 0, len(r.Request.Trail)), Candidates: make([]candidate, 0, len(r.Targets)), Order: r.Order,
		Waits: millis(r.Waits), Upstream: millis(r.Upstream), Affinity: r.Affinity, Lost: append([]string{}, r.Lost...),
	}
	for i := range r.Request.Trail {
		s := &r.Request.Trail[i]
		var offset time.Duration
		if !s.Start.IsZero() {
			offset = max(s.Start.Sub(r.Start), 0)
		}
		out.Steps = append(out.Steps, step{
			Provider: s.Provider, Model: s.Model, Credential: s.Credential, Skipped: s.Skipped, Status: s.Status, Reason: s.Reason, Why: s.Why,
			Until: Time(s.Until), Offset: millis(offset), Duration: millis(s.Duration), FirstContent: measured(s.FirstContent),
			Tokens: newTokens(&s.Usage, s.Estimated), Cost: money(s.Cost), Message: s.Message, Drill: s.Drill, Seam: s.Seam,
		})
	}
	for _, t := range r.Targets {
		out.Candidates = append(out.Candidates, candidate{t.Provider, t.Model, t.On})
	}
	for _, g := range r.Guardrails {
		out.Guardrails = append(out.Guardrails, guarded(g))
	}
	if r.Body != nil {
		out.Body = &bodies{r.Body.Request, r.Body.Response, r.Body.RequestCut, r.Body.ResponseCut}
	}
	return out
}

// entry is one line of the timeline.
type entry struct {
	Row        string `json:"row"`
	At         Time   `json:"at"`
	Instance   string `json:"instance"`
	Kind       string `json:"kind"`
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Credential string `json:"credential"`
	Guard      string `json:"guard"`
	From       string `json:"from"`
	To         string `json:"to"`
	Trip       string `json:"trip"`
	Reason     string `json:"reason"`
	By         string `json:"by"`
	Until      Time   `json:"until"`
	RequestID  string `json:"request_id"`
	Message    string `json:"message"`
}

func newEntry(e *ledger.Entry) entry {
	return entry{
		string(e.Row), Time(e.At), e.Instance, e.Kind, e.Provider, e.Model, e.Credential, e.Guard, e.From, e.To, e.Trip, e.Reason, e.By,
		Time(e.Until), e.RequestID, e.Message,
	}
}

// mirrored is the copy of a request.
type mirrored struct {
	RequestID    string  `json:"request_id"`
	Start        Time    `json:"start"`
	Route        string  `json:"route"`
	Provider     string  `json:"provider"`
	Model        string  `json:"model"`
	Credential   string  `json:"credential"`
	Outcome      string  `json:"outcome"`
	Status       int     `json:"status"`
	Message      string  `json:"message"`
	Duration     millis  `json:"duration_ms"`
	FirstContent *millis `json:"first_content_ms"`
}

func newMirrored(r *ledger.Request) mirrored {
	out := mirrored{RequestID: r.ID, Start: Time(r.Start), Route: r.Route, Provider: r.Provider, Model: r.Model, Duration: millis(r.Duration), FirstContent: measured(r.FirstContent)}
	if n := len(r.Request.Trail); n > 0 {
		s := &r.Request.Trail[n-1]
		out.Provider, out.Model, out.Credential, out.Outcome, out.Status, out.Message = s.Provider, s.Model, s.Credential, s.Reason, s.Status, s.Message
	}
	return out
}

// encode is JSON of a type of ours.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: admin reply cannot be encoded: " + err.Error()) //nolint:forbidigo // all replies are types of ours
	}
	return text
}
