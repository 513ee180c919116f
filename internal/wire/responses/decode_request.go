package responses

import (
	"fmt"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// include names what a client can ask for beyond the answer's items.
const (
	includeSealed   = "reasoning.encrypted_content"
	includeLogProbs = "message.output_text.logprobs"
)

// decodeRequest reads a whole request.
func decodeRequest(w *wire.Request) (*llm.Request, error) {
	q := &llm.Request{Model: w.Model, Stream: w.Stream, StreamUsage: true, Previous: w.Previous, Dropped: &llm.Dropped{}}
	d := requestDecoder{q: q, conversation: conversation{q: q, texts: wire.Texts{Carry: w.Carry}}}
	r := jsonscan.Again(w.Body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if r.Kind() == jsonscan.Null {
			r.Skip()
			continue
		}
		if err := d.member(string(key), &r); err != nil {
			return nil, err
		}
	}
	if !r.End() {
		return nil, wire.NoJSON(w.Body, r.Err())
	}
	if err := d.finish(); err != nil {
		return nil, err
	}
	return q, nil
}

// requestDecoder gathers what can be understood only once all members were seen.
type requestDecoder struct {
	q            *llm.Request
	conversation conversation
	instructions []byte // a string's inside
	input        []byte
	sealed       bool
	identifier   string
}

// member reads one member that is not null.
func (d *requestDecoder) member(key string, r *jsonscan.Reader) error {
	q := d.q
	switch key {
	case "model", "stream", "stream_options", "provider", "models": // read before, or the gateway's own
		r.Skip()
	case "input":
		d.input = r.Raw()
	case "instructions":
		d.instructions = inside(r.Raw())
	case "previous_response_id":
		return refuse(key, "no response of this id is kept here, and this model's provider keeps none: send the whole conversation as input", r)
	case "conversation":
		return refuse(key, "the provider of this model keeps no conversations: send the whole conversation as input", r)
	case "prompt":
		return refuse(key, "the provider of this model keeps no prompts: send instructions and input instead", r)
	case "background":
		if yes, _ := r.Bool(); yes {
			return &wire.RequestError{Param: key, Message: `"background" is true, but the provider of this model answers in the foreground alone`}
		}
	case "tools":
		return d.tools(r.Raw())
	case "tool_choice":
		return d.choice(r.Raw())
	case "parallel_tool_calls":
		q.Parallel = boolean(r)
	case "max_output_tokens":
		n, ok := r.Int()
		if !ok || n < 1 {
			return &wire.RequestError{Param: key, Message: `"max_output_tokens" must be a whole number above 0`}
		}
		q.MaxTokens = n
	case "temperature":
		return float(key, r, &q.Temperature)
	case "top_p":
		return float(key, r, &q.TopP)
	case "top_logprobs":
		n, _ := r.Int()
		q.TopLogProbs = int(min(max(n, 0), 20))
		q.LogProbs = q.LogProbs || q.TopLogProbs > 0
	case "text":
		return d.text(r)
	case "reasoning":
		d.reasoning(r)
	case "include":
		d.include(r)
	case "truncation":
		if word, _ := r.Literal(); string(word) != "disabled" {
			q.Dropped.Add(key)
		}
	case "metadata":
		if raw := r.Raw(); len(raw) > len("{}") {
			q.Metadata = raw
		}
	case "user":
		q.User, _ = r.Text()
	case "safety_identifier":
		d.identifier, _ = r.Text()
	case "prompt_cache_key":
		q.CacheKey, _ = r.Text()
	case "prompt_cache_retention":
		q.CacheRetention, _ = r.Text()
	case "service_tier":
		q.ServiceTier, _ = r.Text()
	case "store":
		q.Store = boolean(r)
	default: // max_tool_calls, context_management, moderation, prompt_cache_options, …
		r.Skip()
		q.Dropped.Add(key)
	}
	return nil
}

func (d *requestDecoder) finish() error {
	q := d.q
	if len(d.instructions) > 0 {
		q.System = append(q.System, d.conversation.texts.Part(d.instructions))
	}
	switch {
	case q.User == "":
		q.User = d.identifier
	case d.identifier != "" && d.identifier != q.User:
		q.Dropped.Add("safety_identifier")
	}
	if d.sealed && q.Reasoning != nil {
		q.Reasoning.Sealed = true
	}
	return d.conversation.read(d.input)
}

// refuse reads a member that names what is kept elsewhere: without it the request would mean something else.
func refuse(key, why string, r *jsonscan.Reader) error {
	if raw := r.Raw(); string(raw) == `""` {
		return nil
	}
	return &wire.RequestError{Param: key, Message: fmt.Sprintf("%q: %s", key, why)}
}

func boolean(r *jsonscan.Reader) *bool {
	if value, ok := r.Bool(); ok {
		return &value
	}
	return nil
}

func float(key string, r *jsonscan.Reader, to **float64) error {
	value, err := number(r.Raw())
	if err != nil {
		return &wire.RequestError{Param: key, Message: fmt.Sprintf("%q must be a number", key)}
	}
	*to = &value
	return nil
}

func (d *requestDecoder) text(r *jsonscan.Reader) error {
	if !r.Object() {
		return nil
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "format":
			d.q.Format = readFormat(r)
		case "verbosity":
			d.q.Verbosity, _ = r.Text()
		default:
			r.Skip()
			d.q.Dropped.Add("text." + string(key))
		}
	}
	if f := &d.q.Format; f.Kind == llm.JSONSchema && (len(f.Schema) == 0 || f.Schema[0] != '{') {
		return &wire.RequestError{Param: "text.format.schema", Message: `"text.format" of type json_schema needs a "schema", which is an object`}
	}
	return nil
}

// readFormat reads the form that the answer must have. Some clients write json_schema's members one level deeper, as
// chat completions have them.
func readFormat(r *jsonscan.Reader) (f llm.Format) {
	if !r.Object() {
		return f
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			switch kind, _ := r.Literal(); string(kind) {
			case "json_object":
				f.Kind = llm.JSONObject
			case "json_schema":
				f.Kind = llm.JSONSchema
			}
		case "name":
			f.Name, _ = r.Text()
		case "description":
			f.Description, _ = r.Text()
		case "schema":
			f.Schema = r.Raw()
		case "strict":
			f.Strict = boolean(r)
		case "json_schema":
			inner := readFormat(r)
			f.Name, f.Description, f.Schema, f.Strict = inner.Name, inner.Description, inner.Schema, inner.Strict
		default:
			r.Skip()
		}
	}
	return f
}

func (d *requestDecoder) reasoning(r *jsonscan.Reader) {
	if !r.Object() {
		return
	}
	var e llm.Effort
	said := false
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if r.Kind() == jsonscan.Null {
			r.Skip()
			continue
		}
		switch string(key) {
		case "effort":
			e.Level, said = text(r.Raw()), true
			e.Off = e.Level == "none"
		case "summary", "generate_summary":
			e.Show, said = text(r.Raw()), true
		default: // context, mode
			r.Skip()
			d.q.Dropped.Add("reasoning." + string(key))
		}
	}
	if said {
		d.q.Reasoning = &e
	}
}

func (d *requestDecoder) include(r *jsonscan.Reader) {
	if !r.Array() {
		return
	}
	for r.Elem() {
		word, _ := r.Literal()
		switch s := string(word); {
		case s == includeSealed:
			d.sealed = true
		case s == includeLogProbs:
			d.q.LogProbs = true
		case strings.HasPrefix(s, "message.input_image."), s == "": // only an echo of the input
		default: // results of server tools
			d.q.Dropped.Add("include")
		}
	}
}
