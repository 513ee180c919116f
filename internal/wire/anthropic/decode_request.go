package anthropic

import (
	"fmt"
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// DecodeRequest reads the whole request. max_tokens must be there, as the dialect says.
func (Messages) DecodeRequest(r *wire.Request) (*llm.Request, error) { return decodeRequest(r, true) }

// reading is a request being decoded. The first mistake found ends it.
type reading struct {
	q     *llm.Request
	names map[string]string // of tools, by the ids of their calls
	path  []step            // to the content that is being read
	// systems is how many of q.System are of the member of that name; the rest are turns.
	systems int
	texts   wire.Texts
	err     *wire.RequestError
}

func decodeRequest(in *wire.Request, limited bool) (*llm.Request, error) {
	d := &reading{
		q:    &llm.Request{Model: in.Model, Stream: in.Stream, StreamUsage: true, Dropped: &llm.Dropped{}},
		path: make([]step, 0, 6), texts: wire.Texts{Carry: in.Carry},
	}
	hasLimit := false
	r := jsonscan.Again(in.Body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if d.err != nil {
			return nil, d.err
		}
		if r.Null() {
			continue
		}
		switch string(key) {
		case "model", "stream", "anthropic_version":
			r.Skip()
		case "max_tokens":
			hasLimit = true
			d.q.MaxTokens = d.int(&r, "max_tokens", 1)
		case "system":
			d.system(&r, in.Body)
		case "messages":
			d.messages(&r, in.Body)
		case "tools":
			d.tools(&r)
		case "tool_choice":
			d.toolChoice(&r)
		case "thinking":
			d.thinking(&r)
		case "output_config":
			d.outputConfig(&r)
		case "output_format":
			d.format(&r, "output_format")
		case "temperature":
			d.q.Temperature = d.number(&r, "temperature")
		case "top_p":
			d.q.TopP = d.number(&r, "top_p")
		case "top_k":
			k := d.int(&r, "top_k", 0)
			d.q.TopK = &k
		case "stop_sequences":
			d.stops(&r)
		case "metadata":
			d.metadata(&r)
		case "service_tier":
			d.q.ServiceTier = d.text(&r, "service_tier")
		case "cache_control":
			d.q.Cache = readCache(&r)
		case "thread":
			d.thread(&r)
		default: // container, mcp_servers, context_management, betas, inference_geo, speed, and what is not known
			if !empty(r.Raw()) {
				d.q.Dropped.Add(string(key))
			}
		}
	}
	switch {
	case d.err != nil:
		return nil, d.err
	case !r.End():
		return nil, wire.NoJSON(in.Body, r.Err())
	case limited && !hasLimit:
		return nil, &wire.RequestError{Param: "max_tokens", Message: `"max_tokens" is missing: say how many tokens the answer may have, such as {"max_tokens": 1024}`}
	}
	if e := d.q.Reasoning; e != nil && !e.Off {
		e.Sealed = true // this dialect's clients send thoughts back with their signatures
	}
	return d.q, nil
}

// empty says that a raw value says nothing.
func empty(raw []byte) bool {
	switch string(raw) {
	case "null", "{}", "[]", `""`, "false":
		return true
	}
	return false
}

func (d *reading) fail(param, message string) {
	if d.err == nil {
		d.err = &wire.RequestError{Param: param, Message: message}
	}
}

func (d *reading) wrong(param, want string, got jsonscan.Kind) {
	d.fail(param, fmt.Sprintf("%q must be %s, not %s", param, want, got))
}

func (d *reading) int(r *jsonscan.Reader, param string, least int64) int64 {
	kind := r.Kind()
	n, ok := r.Int()
	switch {
	case !ok && kind == jsonscan.Number:
		d.fail(param, fmt.Sprintf("%q must be a whole number", param))
	case !ok:
		d.wrong(param, "a number", kind)
	case n < least:
		d.fail(param, fmt.Sprintf("%q must be at least %d, not %d", param, least, n))
	}
	return n
}

func (d *reading) number(r *jsonscan.Reader, param string) *float64 {
	kind := r.Kind()
	f, err := strconv.ParseFloat(string(r.Raw()), 64)
	if kind != jsonscan.Number || err != nil {
		d.wrong(param, "a number", kind)
		return nil
	}
	return &f
}

func (d *reading) text(r *jsonscan.Reader, param string) string {
	kind := r.Kind()
	s, ok := r.Text()
	if !ok {
		d.wrong(param, "a string", kind)
	}
	return s
}

func (d *reading) stops(r *jsonscan.Reader) {
	if kind := r.Kind(); !r.Array() {
		d.wrong("stop_sequences", "an array of strings", kind)
		return
	}
	d.q.Stop = nil // see system
	for r.Elem() {
		d.q.Stop = append(d.q.Stop, d.text(r, "stop_sequences"))
	}
}

func (d *reading) metadata(r *jsonscan.Reader) {
	if kind := r.Kind(); !r.Object() {
		d.wrong("metadata", "an object", kind)
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "user_id" {
			if !r.Null() {
				d.q.User = d.text(r, "metadata.user_id")
			}
			continue
		}
		if !empty(r.Raw()) {
			d.q.Dropped.Add("metadata." + string(key))
		}
	}
}

// threadUnsupported is the API's own word for a request that cannot be part of a thread. Its clients (Claude Code, the
// SDKs' tool runner) answer it by sending the whole conversation, without a thread from then on.
const threadUnsupported = "thread_unsupported_request"

// thread reads the conversation that Anthropic's servers are asked to hold. What begins one says all there is to say; what
// continues one is a part that nobody else can complete.
func (d *reading) thread(r *jsonscan.Reader) {
	how := ""
	if kind := r.Kind(); !r.Object() {
		d.wrong("thread", "an object", kind)
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "type" {
			how = d.text(r, "thread.type")
		} else {
			r.Skip()
		}
	}
	if how == "create" {
		d.q.Dropped.Add("thread")
		return
	}
	if d.err == nil {
		d.err = &wire.RequestError{
			Param: "thread", Code: threadUnsupported,
			Message: `the provider of this model holds no threads: send the whole conversation, without "thread"`,
		}
	}
}

// effort is the request's, made when first needed.
func (d *reading) effort() *llm.Effort {
	if d.q.Reasoning == nil {
		d.q.Reasoning = &llm.Effort{}
	}
	return d.q.Reasoning
}

func (d *reading) thinking(r *jsonscan.Reader) {
	kind := r.Kind()
	if !r.Object() {
		d.wrong("thinking", "an object", kind)
		return
	}
	var how string
	var budget int64
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if r.Null() {
			continue
		}
		switch string(key) {
		case "type":
			how = d.text(r, "thinking.type")
		case "budget_tokens":
			budget = d.int(r, "thinking.budget_tokens", 1)
		case "display":
			switch word := d.text(r, "thinking.display"); word {
			case "omitted":
				d.effort().Show = "none"
			default:
				d.effort().Show = word
			}
		default:
			d.q.Dropped.Add("thinking." + string(key))
			r.Skip()
		}
	}
	switch how {
	case "enabled":
		if budget == 0 {
			d.fail("thinking.budget_tokens", `"thinking.budget_tokens" is missing: say how many tokens the model may think`)
		}
		d.effort().Budget = budget
	case "adaptive":
		d.effort().Budget = -1
	case "disabled":
		d.effort().Off = true
	default:
		d.fail("thinking.type", fmt.Sprintf(`"thinking.type" must be enabled, adaptive or disabled, not %q`, how))
	}
}

func (d *reading) outputConfig(r *jsonscan.Reader) {
	if kind := r.Kind(); !r.Object() {
		d.wrong("output_config", "an object", kind)
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if r.Null() {
			continue
		}
		switch string(key) {
		case "effort":
			d.effort().Level = d.text(r, "output_config.effort")
		case "format":
			d.format(r, "output_config.format")
		default: // task_budget, and what is not known
			d.q.Dropped.Add("output_config." + string(key))
			r.Skip()
		}
	}
}

// format reads {"type":"json_schema","schema":{…}}.
func (d *reading) format(r *jsonscan.Reader, param string) {
	if kind := r.Kind(); !r.Object() {
		d.wrong(param, "an object", kind)
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			if word := d.text(r, param+".type"); word != "json_schema" {
				d.fail(param+".type", fmt.Sprintf("%q must be json_schema, not %q", param+".type", word))
			}
		case "schema":
			if kind := r.Kind(); kind != jsonscan.Object {
				d.wrong(param+".schema", "an object", kind)
			}
			d.q.Format = llm.Format{Kind: llm.JSONSchema, Schema: r.Raw()}
		case "name":
			r.Skip() // an older form had one
		default:
			d.q.Dropped.Add(param + "." + string(key))
			r.Skip()
		}
	}
	if d.q.Format.Kind != llm.JSONSchema {
		d.fail(param+".schema", fmt.Sprintf("%q is missing", param+".schema"))
	}
}

// readCache reads a cache_control; nil if it is none.
func readCache(r *jsonscan.Reader) *llm.Cache {
	if !r.Object() {
		return nil
	}
	c := &llm.Cache{}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "ttl" {
			c.TTL, _ = r.Text()
		} else {
			r.Skip()
		}
	}
	return c
}
