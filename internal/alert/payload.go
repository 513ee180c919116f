package alert

import (
	"encoding/json"
	"strings"
	"unicode"
)

// Bounds of what is said in a message, in bytes: names and words come from clients and upstreams.
const (
	maxName  = 200
	maxWords = 500
)

// body is the alert in a receiver's format.
func (a *Alert) body(f Format) []byte {
	var payload any = a
	if f == Slack {
		payload = a.slack()
	}
	text, err := json.Marshal(payload)
	if err != nil {
		panic("BUG: an alert cannot be encoded: " + err.Error()) //nolint:forbidigo // it is text and times
	}
	return text
}

// slackMessage is what Slack's incoming webhooks take. Others that take the same read text alone.
type slackMessage struct {
	Text   string       `json:"text"` // for notifications, and for who knows no blocks
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type     string      `json:"type"`
	Text     *slackText  `json:"text,omitempty"`
	Elements []slackText `json:"elements,omitempty"`
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (a *Alert) slack() slackMessage {
	sign := ":red_circle:"
	switch {
	case a.Event == Test, a.Event == Drill:
		sign = ":large_blue_circle:"
	case a.Status == Resolved:
		sign = ":large_green_circle:"
	case a.Severity == "warning":
		sign = ":large_orange_circle:"
	}
	text := sign + " " + slackEscape(a.Summary)
	m := slackMessage{Text: text, Blocks: []slackBlock{{Type: "section", Text: &slackText{"mrkdwn", text}}}}
	var notes []slackText
	note := func(name, value string) {
		if value != "" {
			notes = append(notes, slackText{"mrkdwn", name + ": " + slackEscape(value)})
		}
	}
	note("reason", a.Reason)
	note("until", stamp(a.Until))
	note("request", a.RequestID)
	note("by", a.By)
	note("message", a.Message)
	note("since", stamp(a.Since))
	note("instance", a.Instance)
	return slackMessage{m.Text, append(m.Blocks, slackBlock{Type: "context", Elements: notes})}
}

// stamp is a time as text, empty for none.
func stamp(t Time) string {
	if t.IsZero() {
		return ""
	}
	text, _ := t.MarshalText() // never fails
	return string(text)
}

// slackEscape takes the meaning from the three signs that have one in Slack's texts: a name cannot make a link, a mention of all, or
// anything else of it.
func slackEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// clean makes an alert fit for every format.
func (a *Alert) clean() {
	for _, s := range []*string{&a.Provider, &a.Model, &a.Route, &a.Scope, &a.Name, &a.Trip, &a.Reason, &a.RequestID, &a.By} {
		*s = plain(*s, maxName)
	}
	a.Summary, a.Message = plain(a.Summary, maxWords), plain(a.Message, maxWords)
}

// plain is a word of somebody else's made fit for a message: cut to a length, without what would change how the rest is shown.
func plain(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == unicode.ReplacementChar, unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return -1 // control characters, and those that turn the direction of writing
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-3], "") + "..."
}
