package drill

import (
	"encoding/json"
	"fmt"
	"time"
)

// Kind is what a fault looks like to the gateway. Its words stand in metrics, reports and stores.
type Kind string

// The kinds. Those from Cut on have the provider asked and maim its answer; Slow has it asked later; the others do not have it asked.
const (
	Status  Kind = "status"  // an error reply
	Slow    Kind = "latency" // the request goes out late
	Refused Kind = "refused" // no connection
	Reset   Kind = "reset"   // the connection is lost before an answer
	Hang    Kind = "timeout" // nothing comes, for as long as the attempt may take
	Invalid Kind = "invalid" // a 200 that is no answer

	Cut     Kind = "cut"     // the connection is lost after so much content
	Stall   Kind = "stall"   // nothing more comes after so much content
	Error   Kind = "error"   // an error event comes after so much content
	Garbage Kind = "garbage" // an event that is no JSON comes after so much content, and then the rest
	NoEnd   Kind = "no_end"  // the end marker is missing
)

// The answers of Invalid.
const (
	HTML  = "html"  // a web page
	JSON  = "json"  // an object that is not whole
	Empty = "empty" // a body without a byte
)

// Shape is a fault. Fields that its kind has no use for are zero.
type Shape struct {
	Kind Kind
	// Status, Body and RetryAfter are those of an error reply; without a Body it is in the words of the dialect that was spoken.
	Status     int
	Body       string
	RetryAfter time.Duration
	// Answer is that of Invalid.
	Answer string
	// After is after how many content events it happens.
	After int
	// Latency goes before all of it, whatever the kind.
	Latency time.Duration
}

// Maims says whether the provider is asked, and its answer changed.
func (s *Shape) Maims() bool {
	switch s.Kind {
	case Cut, Stall, Error, Garbage, NoEnd:
		return true
	case Status, Slow, Refused, Reset, Hang, Invalid:
	}
	return false
}

// Bounds of a shape.
const (
	MaxBody       = 16 << 10 // bytes of an error reply
	MaxAfter      = 100_000  // content events
	MaxLatency    = 10 * time.Minute
	MaxRetryAfter = 24 * time.Hour
)

// written is a shape as JSON has it: one member says the kind, and the others go with it.
type written struct {
	Status     *int    `json:"status,omitempty"`
	Body       *string `json:"body,omitempty"`
	RetryAfter *string `json:"retry_after,omitempty"`
	Latency    *string `json:"latency,omitempty"`
	Refused    bool    `json:"refused,omitempty"`
	Reset      bool    `json:"reset,omitempty"`
	Timeout    bool    `json:"timeout,omitempty"`
	Invalid    *string `json:"invalid,omitempty"`
	Cut        *int    `json:"cut_after,omitempty"`
	Stall      *int    `json:"stall_after,omitempty"`
	Error      *int    `json:"error_event_after,omitempty"`
	Garbage    *int    `json:"garbage_after,omitempty"`
	NoEnd      bool    `json:"no_end,omitempty"`
}

// MarshalJSON writes {"status": 503}, {"cut_after": 3} and so on.
func (s Shape) MarshalJSON() ([]byte, error) {
	var w written
	duration := func(d time.Duration) *string {
		if d == 0 {
			return nil
		}
		text := d.String()
		return &text
	}
	w.Latency = duration(s.Latency)
	switch s.Kind {
	case Status:
		w.Status, w.RetryAfter = &s.Status, duration(s.RetryAfter)
		if s.Body != "" {
			w.Body = &s.Body
		}
	case Refused:
		w.Refused = true
	case Reset:
		w.Reset = true
	case Hang:
		w.Timeout = true
	case Invalid:
		w.Invalid = &s.Answer
	case Cut:
		w.Cut = &s.After
	case Stall:
		w.Stall = &s.After
	case Error:
		w.Error = &s.After
	case Garbage:
		w.Garbage = &s.After
	case NoEnd:
		w.NoEnd = true
	case Slow:
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Shape) UnmarshalJSON(text []byte) error {
	read, err := ReadShape(text)
	*s = read
	return err
}

// ReadShape reads a shape out of JSON. Its error is a *Mistake.
func ReadShape(text []byte) (Shape, error) {
	var w written
	if err := decode(text, &w, "shape"); err != nil {
		return Shape{}, err
	}
	return w.shape()
}

// shape is what was written, or what is wrong with it.
func (w *written) shape() (s Shape, err error) {
	type after struct {
		kind Kind
		n    *int
		name string
	}
	var kinds []Kind
	say := func(there bool, k Kind) {
		if there {
			kinds = append(kinds, k)
		}
	}
	say(w.Status != nil, Status)
	say(w.Refused, Refused)
	say(w.Reset, Reset)
	say(w.Timeout, Hang)
	say(w.Invalid != nil, Invalid)
	for _, a := range []after{{Cut, w.Cut, "cut_after"}, {Stall, w.Stall, "stall_after"}, {Error, w.Error, "error_event_after"}, {Garbage, w.Garbage, "garbage_after"}} {
		if a.n == nil {
			continue
		}
		say(true, a.kind)
		if s.After = *a.n; s.After < 0 || s.After > MaxAfter {
			return s, wrong("shape."+a.name, "it must be a number of content events from 0 to %d", MaxAfter)
		}
	}
	say(w.NoEnd, NoEnd)
	if w.Latency != nil {
		if s.Latency, err = duration("shape.latency", *w.Latency, MaxLatency); err != nil {
			return s, err
		}
		if len(kinds) == 0 {
			kinds = []Kind{Slow}
		}
	}
	switch len(kinds) {
	case 0:
		return s, wrong("shape", "it must say one fault: status, latency, refused, reset, timeout, invalid, cut_after, stall_after, error_event_after, garbage_after or no_end")
	case 1:
		s.Kind = kinds[0]
	default:
		return s, wrong("shape", "it says %s and %s; a rule has one fault, before which only latency may stand", kinds[0], kinds[1])
	}
	return s, w.details(&s)
}

// details reads what belongs to some kinds alone.
func (w *written) details(s *Shape) (err error) {
	if s.Kind != Status && (w.Body != nil || w.RetryAfter != nil) {
		return wrong("shape", "body and retry_after go with status alone")
	}
	switch s.Kind {
	case Invalid:
		s.Answer = *w.Invalid
		if s.Answer != HTML && s.Answer != JSON && s.Answer != Empty {
			return wrong("shape.invalid", "%q is none of html, json, empty", clip(s.Answer))
		}
	case Status:
		if s.Status = *w.Status; s.Status < 400 || s.Status > 599 {
			return wrong("shape.status", "%d is no error: it must be from 400 to 599", s.Status)
		}
		if w.Body != nil {
			if s.Body = *w.Body; len(s.Body) > MaxBody {
				return wrong("shape.body", "it is longer than %d bytes", MaxBody)
			}
		}
		if w.RetryAfter != nil {
			s.RetryAfter, err = duration("shape.retry_after", *w.RetryAfter, MaxRetryAfter)
		}
	case Slow, Refused, Reset, Hang, Cut, Stall, Error, Garbage, NoEnd:
	}
	return err
}

// duration reads a length of time that is more than nothing.
func duration(param, text string, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > most {
		return 0, wrong(param, "%q must be a duration such as 500ms, 30s or 5m, at most %s", clip(text), most)
	}
	return d, nil
}

// String is the shape in short, for people.
func (s Shape) String() string {
	text := string(s.Kind)
	switch s.Kind {
	case Status:
		text = fmt.Sprintf("status %d", s.Status)
	case Slow:
		return "latency " + s.Latency.String()
	case Invalid:
		text = "invalid " + s.Answer
	case Cut, Stall, Error, Garbage:
		text = fmt.Sprintf("%s after %d", s.Kind, s.After)
	case Refused, Reset, Hang, NoEnd:
	}
	if s.Latency > 0 {
		text += ", late by " + s.Latency.String()
	}
	return text
}
