package explain

import (
	"strconv"

	"evergate/internal/journal"
	"evergate/internal/route"
)

// Mirror is where copies of such requests go, whose answers are thrown away.
type Mirror struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Share of the requests for the model is copied, above 0 to 1.
	Share float64 `json:"share"`
	// Copied: a request such as this one may be among them.
	Copied bool `json:"copied"`
	// Why says so in a sentence, or what is in the way.
	Why string `json:"why"`
}

// MirrorOf tells of a model's mirror. inTheWay says why no copy of the request may be made; empty: it may.
func MirrorOf(m *route.Mirror, inTheWay string) *Mirror {
	out := &Mirror{Provider: m.Target.Provider, Model: m.Target.Model, Share: m.Share, Copied: inTheWay == ""}
	if out.Copied {
		out.Why = strconv.FormatFloat(100*m.Share, 'g', 4, 64) + " % of such requests are copied to " + m.Target.String() + ", and its answers are thrown away."
	} else {
		out.Why = "No copy goes to the mirror " + m.Target.String() + ": " + sentence(inTheWay)
	}
	return out
}

// PastMirror is what became of the copy of a request.
type PastMirror struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Credential string `json:"credential,omitempty"`
	// Outcome is ok, a word of a trail, or blocked, late, stopped or bug.
	Outcome        string `json:"outcome"`
	Status         int    `json:"status,omitempty"`
	Message        string `json:"message,omitempty"`
	DurationMS     int64  `json:"duration_ms"`
	FirstContentMS int64  `json:"first_content_ms,omitempty"`
	InputTokens    int64  `json:"input_tokens,omitempty"`
	OutputTokens   int64  `json:"output_tokens,omitempty"`
}

// TellCopy adds what became of the request's copy.
func (p *Past) TellCopy(f *journal.Mirror) {
	p.Mirror = &PastMirror{
		Provider: f.Provider, Model: f.Model, Credential: f.Credential, Outcome: f.Outcome, Status: f.Status, Message: f.Message,
		DurationMS: f.Duration.Milliseconds(), FirstContentMS: f.FirstContent.Milliseconds(), InputTokens: f.Usage.Input, OutputTokens: f.Usage.Output,
	}
	if to := f.Provider + "/" + f.Model; f.Outcome == "blocked" {
		p.Summary += " No copy went to the mirror " + to + ", which was blocked (" + f.Message + ")."
	} else {
		p.Summary += " A copy went to the mirror " + to + ": " + f.Outcome + " after " + length(f.Duration) + "."
	}
}
