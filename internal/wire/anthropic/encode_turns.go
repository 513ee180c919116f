package anthropic

import (
	"slices"
	"strings"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// turn is a message of the request to be: neighbours of the same role are one.
type turn struct {
	role string
	// results are tool results, which come first in a user's turn.
	results []*llm.Part
	parts   []*llm.Part
}

// collect sorts what the request says into system prompt and turns. Parts that cannot be sent are noted here and left
// out, and so are turns that nothing is left of.
func (w *writing) collect() {
	w.turns = make([]turn, 0, len(w.q.Messages)+1)
	w.places = make([]*llm.Part, len(w.q.Messages))
	for i := range w.q.System {
		w.addSystem(&w.q.System[i])
	}
	for i := range w.q.Messages {
		m := &w.q.Messages[i]
		if m.Name != "" {
			w.drop(llm.DropNames)
		}
		for j := range m.Content {
			p := &m.Content[j]
			switch m.Role {
			case llm.System:
				w.addLate(p)
			case llm.Assistant:
				w.addPart("assistant", p)
			case llm.User:
				w.addPart("user", p)
			}
		}
	}
	w.settleLate()
	w.tools = len(w.q.Tools) > 0
	if len(w.turns) == 0 && len(w.system) > 0 {
		// A prompt of instructions alone: this dialect needs a turn to answer.
		w.turns = []turn{{role: "user", parts: w.system}}
		w.system = nil
	}
	w.trimPrefill()
}

func (w *writing) addSystem(p *llm.Part) {
	switch {
	case p.Kind != llm.Text:
		w.dropKind(p)
	case !blankPart(p):
		w.system = append(w.system, p)
	}
}

// addLate adds a part of a system message from the middle of the conversation; at its start it is one like any other.
func (w *writing) addLate(p *llm.Part) {
	switch {
	case len(w.turns) == 0:
		w.addSystem(p)
	case p.Kind != llm.Text:
		w.addPart("user", p)
	case !blankPart(p):
		w.add("system", p)
	}
}

// settleLate says of each system message in the middle how it goes out. It stays where it is, so that the prompt before
// it stays the same and cached: as a turn of role system where the model takes one in this place (after a user's turn,
// with nothing or the model's turn behind it), else in the user's turn, marked as what it is.
func (w *writing) settleLate() {
	if !slices.ContainsFunc(w.turns, func(t turn) bool { return t.role == "system" }) {
		return
	}
	turns := w.turns
	w.turns = w.turns[:0:0]
	for i := range turns {
		t := &turns[i]
		if t.role == "system" {
			after := len(w.turns) > 0 && w.turns[len(w.turns)-1].role == "user"
			last := i+1 == len(turns) || turns[i+1].role == "assistant"
			if !w.traits.systemTurns || !after || !last {
				for j, p := range t.parts {
					marked := *p
					marked.Text, marked.Quoted = "<system-reminder>\n"+wire.TextOf(p)+"\n</system-reminder>", nil
					t.parts[j] = &marked
				}
				t.role = "user"
			}
		}
		if n := len(w.turns); n > 0 && w.turns[n-1].role == t.role {
			w.turns[n-1].results = append(w.turns[n-1].results, t.results...)
			w.turns[n-1].parts = append(w.turns[n-1].parts, t.parts...)
			continue
		}
		w.turns = append(w.turns, *t)
	}
}

// addPart adds a part if it can be sent in a turn of that role.
func (w *writing) addPart(role string, p *llm.Part) {
	if p.Signature != nil {
		w.drop(llm.DropSignatures) // this dialect signs thoughts alone
	}
	switch p.Kind {
	case llm.Text, llm.Refusal:
		if len(p.Citations) > 0 {
			w.drop(llm.DropCitations) // what points into a vendor's sources cannot be written anew
		}
		if blankPart(p) {
			return
		}
	case llm.Reasoning:
		if !w.sendsThought(p, role) {
			return
		}
	case llm.Image, llm.Document, llm.Audio, llm.Video:
		if role != "user" || !w.sendsMedia(p) {
			w.dropKind(p)
			return
		}
	case llm.Opaque:
		if p.Opaque.Vendor != llm.Anthropic {
			w.drop(llm.DropServerTools)
			return
		}
	case llm.ToolCall:
		if p.Call.Custom {
			w.drop(llm.DropCustomTools)
		}
		w.ids.called(p.Call)
	case llm.ToolResult:
		if p.Result.Custom {
			w.drop(llm.DropCustomTools)
		}
		role = "user"
	}
	w.add(role, p)
}

func (w *writing) add(role string, p *llm.Part) {
	if n := len(w.turns); n == 0 || w.turns[n-1].role != role {
		w.turns = append(w.turns, turn{role: role})
	}
	t := &w.turns[len(w.turns)-1]
	if p.Kind == llm.ToolResult {
		t.results = append(t.results, p)
		return
	}
	if t.parts == nil && len(w.places) > 0 {
		t.parts, w.places = w.places[:0:1], w.places[1:]
	}
	t.parts = append(t.parts, p)
}

// sendsThought says whether a thought can go to the target: with a seal of its own vendor, and only so.
func (w *writing) sendsThought(p *llm.Part, role string) bool {
	s := p.Seal
	if role == "assistant" && s != nil && s.Vendor == w.t.Vendor && !w.t.Unsealed && s.Kind != llm.Encrypted {
		return true
	}
	if s != nil {
		w.drop(llm.DropSignatures)
	}
	if p.Text != "" {
		w.drop(llm.DropReasoning)
	}
	return false
}

// dropKind notes a part that cannot be sent.
func (w *writing) dropKind(p *llm.Part) {
	switch p.Kind {
	case llm.Image:
		w.drop(mediaWord(p.Media, llm.DropImages))
	case llm.Document:
		w.drop(mediaWord(p.Media, llm.DropDocuments))
	case llm.Audio:
		w.drop(llm.DropAudio)
	case llm.Video:
		w.drop(llm.DropVideo)
	case llm.Opaque:
		w.drop(llm.DropServerTools)
	case llm.Reasoning:
		w.drop(llm.DropReasoning)
	case llm.Text, llm.Refusal, llm.ToolCall, llm.ToolResult:
	}
}

func mediaWord(m *llm.Media, word string) string {
	if m != nil && m.FileID != "" {
		return llm.DropFileIDs
	}
	return word
}

// trimPrefill takes white space off the end of an answer that was begun for the model, as the dialect wants it.
func (w *writing) trimPrefill() {
	if len(w.turns) == 0 || !w.prefills() {
		return
	}
	t := &w.turns[len(w.turns)-1]
	if n := len(t.parts); n > 0 && t.parts[n-1].Kind == llm.Text {
		p := *t.parts[n-1]
		p.Text, p.Quoted = strings.TrimRight(wire.TextOf(&p), " \t\r\n"), nil
		t.parts[n-1] = &p
	}
}

// blank says that a text holds nothing but white space, which the dialect refuses in a block of its own.
func blank(s string) bool { return strings.TrimSpace(s) == "" }

func blankPart(p *llm.Part) bool { return !wire.Visible(p) && blank(wire.TextOf(p)) }
