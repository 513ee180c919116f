package gemini

import (
	"slices"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// skipSignature is the value that Google documents for a function call in the history that another model made: newer
// models refuse a turn whose first call has no signature.
const skipSignature = "skip_thought_signature_validator"

// EncodeRequest appends the request for a target; the model itself goes into the path.
func (Generate) EncodeRequest(dst []byte, q *llm.Request, t *wire.Target) ([]byte, error) {
	w := writer{q: q, t: t, model: traitsOf(t.Model), dropped: q.Dropped}
	w.list = list{dst: append(dst, '{')}
	system, turns := q.System, q.Messages
	if len(turns) == 0 { // instructions alone: there must be a turn to answer
		system, turns = nil, []llm.Message{{Role: llm.User, Content: q.System}}
	}
	w.system(system)
	if !w.contents(turns) {
		return dst, &wire.RequestError{Param: "messages", Message: "nothing is left of the conversation that a Gemini model could be asked"}
	}
	w.tools()
	w.config()
	w.rest()
	return append(w.dst, '}'), nil
}

// writer is the state of writing one request.
type writer struct {
	list
	q       *llm.Request
	t       *wire.Target
	model   traits
	dropped *llm.Dropped

	// Of contents: the open content's role, and whether it holds results of functions.
	role      string
	results   bool
	opened    bool
	signed    bool      // a call of the open content was seen, so that the next needs no signature
	calls     []asked   // of the history
	loose     *llm.Seal // a seal of hidden thoughts that belongs to the next part
	functions bool      // functions are declared
}

// refused says that the target does not take a field.
func (w *writer) refused(name string) bool { return slices.Contains(w.t.Quirks.Refuses, name) }

// takes says that the target takes a field; if not it is noted under the client's name for it.
func (w *writer) takes(name, client string) bool {
	if !w.refused(name) {
		return true
	}
	w.dropped.Add(client)
	return false
}

func (w *writer) system(parts []llm.Part) {
	some := false
	for i := range parts {
		p := &parts[i]
		if p.Cache != nil {
			w.dropped.Add(llm.DropCache)
		}
		switch {
		case p.Kind != llm.Text:
			w.dropMedia(p.Kind)
			continue
		case !p.HasText():
			continue
		}
		if !some {
			w.open("systemInstruction", '{')
			w.open("parts", '[')
			some = true
		}
		w.next()
		w.dst = append(w.dst, `{"text":`...)
		w.dst = append(wire.AppendText(w.dst, p), '}')
	}
	if some {
		w.close(']')
		w.close('}')
	}
}

func (w *writer) dropMedia(kind llm.PartKind) {
	switch kind {
	case llm.Image:
		w.dropped.Add(llm.DropImages)
	case llm.Document:
		w.dropped.Add(llm.DropDocuments)
	case llm.Audio:
		w.dropped.Add(llm.DropAudio)
	case llm.Video:
		w.dropped.Add(llm.DropVideo)
	case llm.Opaque:
		w.dropped.Add(llm.DropServerTools)
	case llm.Text, llm.ToolCall, llm.ToolResult, llm.Reasoning, llm.Refusal:
	}
}

// contents writes the conversation and says whether anything is left of it.
func (w *writer) contents(turns []llm.Message) bool {
	w.open("contents", '[')
	for i := range turns {
		w.message(&turns[i])
	}
	w.shut()
	some := w.more
	w.close(']')
	return some
}

// message writes one turn. Results of functions come first and in a content of their own: they must follow their calls.
func (w *writer) message(m *llm.Message) {
	if m.Name != "" {
		w.dropped.Add(llm.DropNames)
	}
	role := "user"
	if m.Role == llm.Assistant {
		role = "model"
	}
	for i := range m.Content {
		if p := &m.Content[i]; p.Kind == llm.ToolResult && p.Result != nil {
			w.result(p)
		}
	}
	for i := range m.Content {
		p := &m.Content[i]
		switch {
		case p.Cache != nil:
			w.dropped.Add(llm.DropCache)
		case len(p.Citations) > 0:
			w.dropped.Add(llm.DropCitations)
		}
		if p.Kind != llm.ToolResult {
			w.part(role, p)
		} else if p.Result != nil && !w.model.richResults {
			for j := range p.Result.Content { // what the result itself cannot hold
				if c := &p.Result.Content[j]; c.Kind != llm.Text {
					w.part(role, c)
				}
			}
		}
	}
	if w.loose != nil {
		w.signature(role, w.loose)
		w.loose = nil
	}
}

// begin makes the next part one of a content of a role: the open one if it is, else a new one.
func (w *writer) begin(role string, results bool) {
	if !w.opened || w.role != role || w.results != results {
		w.shut()
		w.next()
		w.dst = append(w.dst, `{"role":"`...)
		w.dst = append(w.dst, role...)
		w.dst = append(w.dst, `","parts":[`...)
		w.opened, w.role, w.results, w.signed = true, role, results, false
		w.more = false
	}
	w.next()
}

func (w *writer) shut() {
	if w.opened {
		w.dst = append(w.dst, "]}"...)
		w.opened, w.more = false, true
	}
}

// rest writes what is neither conversation, tools nor configuration, and notes what has no place.
func (w *writer) rest() {
	q := w.q
	w.labels()
	if tier := tierWord(q.ServiceTier); tier != "" && tier != "standard" {
		if w.takes("serviceTier", "service_tier") {
			w.text("serviceTier", tier)
		}
	} else if tier == "" && q.ServiceTier != "" && q.ServiceTier != "auto" {
		w.dropped.Add("service_tier")
	}
	for _, f := range [...]struct {
		name string
		lost bool
	}{
		{"user", q.User != ""},
		{"store", q.Store != nil && *q.Store},
		{"parallel_tool_calls", q.Parallel != nil && !*q.Parallel && w.functions},
		{"min_p", q.MinP != nil},
		{"logit_bias", !empty(q.LogitBias)},
		{"verbosity", q.Verbosity != ""},
		{"prompt_cache_key", q.CacheKey != ""},
		{"prompt_cache_retention", q.CacheRetention != ""},
		{llm.DropCache, q.Cache != nil},
	} {
		if f.lost {
			w.dropped.Add(f.name)
		}
	}
}

// labels writes the metadata as labels where the target keeps them; what is no label there is left out.
func (w *writer) labels() {
	if empty(w.q.Metadata) {
		return
	}
	some := false
	for _, m := range members(w.q.Metadata) {
		if value := textOf(m.raw); !w.t.Quirks.Labels || m.raw[0] != '"' || !isLabel(m.key, true) || !isLabel(value, false) {
			w.dropped.Add("metadata")
			continue
		}
		if !some {
			w.open("labels", '{')
			some = true
		}
		w.anyKey(m.key)
		w.dst = append(w.dst, m.raw...)
	}
	if some {
		w.close('}')
	}
}

// isLabel says that a text can be a label's key or value: up to 63 lower-case letters, digits, hyphens and underscores.
func isLabel(text string, key bool) bool {
	if len(text) > 63 || key && (text == "" || text[0] < 'a' || text[0] > 'z') {
		return false
	}
	for _, c := range []byte(text) {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
