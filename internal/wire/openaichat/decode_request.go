package openaichat

import (
	"fmt"
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// requestDecoder reads one request. The first mistake is kept and the rest of the text is still walked, so that each
// step needs to look at nothing but its own value.
type requestDecoder struct {
	r   jsonscan.Reader
	q   *llm.Request
	err *wire.RequestError
	// message and part are where the reader is in messages; -1: not there.
	message, part int

	says      wire.Texts // what messages say
	effort    llm.Effort
	hasEffort bool
	calls     []llm.Call // of all messages so far, by which results find their tool's name
	oldCalls  int        // of those, how many were in the form of functions
	unclaimed []string   // ids of those that have no result yet
	tooled    bool       // there were tools
}

func newRequestDecoder(r *wire.Request) *requestDecoder {
	return &requestDecoder{
		r: jsonscan.Again(r.Body), says: wire.Texts{Carry: r.Carry}, message: -1, part: -1,
		q: &llm.Request{
			Model: r.Model, Stream: r.Stream, StreamUsage: r.AskedUsage, Choices: r.Choices, Dropped: &llm.Dropped{},
		},
	}
}

// done is the result of the walk of body.
func (d *requestDecoder) done(body []byte) (*llm.Request, error) {
	if d.err != nil {
		return nil, d.err
	}
	if !d.r.End() {
		return nil, wire.NoJSON(body, d.r.Err())
	}
	return d.q, nil
}

func decodeChat(r *wire.Request) (*llm.Request, error) {
	d := newRequestDecoder(r)
	d.r.Object()
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "messages":
			d.messages()
		case "tools":
			d.tools()
		case "functions":
			d.functions()
		case "tool_choice":
			d.toolChoice()
		case "function_call":
			d.functionChoice()
		case "parallel_tool_calls":
			d.q.Parallel = d.boolean("parallel_tool_calls")
		case "response_format":
			d.format()
		case "audio":
			d.audio()
		case "modalities":
			d.modalities()
		case "prediction", "moderation", "prompt_cache_options":
			d.drop(string(key))
		case "web_search_options":
			if !d.r.Null() { // an empty one asks for it, too
				d.r.Skip()
				d.q.Dropped.Add(llm.DropServerTools)
			}
		default:
			d.common(string(key))
		}
	}
	switch {
	case d.hasEffort:
		d.q.Reasoning = &d.effort
	case d.effort.Show != "":
		d.q.Dropped.Add("reasoning")
	}
	return d.done(r.Body)
}

// common reads a member that chat completions share with the older completions, or notes that nobody knows it.
func (d *requestDecoder) common(key string) {
	q := d.q
	switch key {
	case "model", "stream", "n": // read before, or below
		if key == "n" && d.r.Kind() != jsonscan.Null {
			if n := d.integer(key); d.err == nil && n < 1 {
				d.fail(key, `"n" must be at least 1`)
			} else {
				q.Choices = int(min(n, 128))
			}
			return
		}
		d.r.Skip()
	case "stream_options":
		d.streamOptions()
	case "max_completion_tokens":
		if n := d.integer(key); n > 0 {
			q.MaxTokens = n
		}
	case "max_tokens":
		if n := d.integer(key); n > 0 && q.MaxTokens == 0 {
			q.MaxTokens = n
		}
	case "temperature":
		q.Temperature = d.number(key)
	case "top_p":
		q.TopP = d.number(key)
	case "min_p":
		q.MinP = d.number(key)
	case "frequency_penalty":
		q.FrequencyPenalty = d.number(key)
	case "presence_penalty":
		q.PresencePenalty = d.number(key)
	case "top_k":
		q.TopK = d.whole(key)
	case "seed":
		q.Seed = d.whole(key)
	case "stop":
		d.stop()
	case "logit_bias":
		q.LogitBias = d.object(key)
	case "metadata":
		q.Metadata = d.object(key)
	case "user":
		if s := d.text(key); q.User == "" {
			q.User = s
		}
	case "safety_identifier":
		if s := d.text(key); s != "" {
			q.User = s
		}
	case "store":
		q.Store = d.boolean(key)
	case "logprobs":
		if b := d.boolean(key); b != nil {
			q.LogProbs = *b
		}
	case "top_logprobs":
		q.TopLogProbs = int(d.integer(key))
	case "service_tier":
		q.ServiceTier = d.text(key)
	case "prompt_cache_key":
		q.CacheKey = d.text(key)
	case "prompt_cache_retention":
		q.CacheRetention = d.text(key)
	case "cache_control":
		q.Cache = d.cache()
	case "verbosity":
		q.Verbosity = d.text(key)
	case "reasoning_effort", "reasoning", "thinking":
		d.reasoning(key)
	case "usage": // OpenRouter's way to ask for it
		d.usage()
	case "provider", "models": // the gateway's own, not the upstream's
		d.r.Skip()
	default:
		d.drop(key)
	}
}

// drop reads a value that has no place, and notes its name unless it says nothing.
func (d *requestDecoder) drop(name string) {
	kind := d.r.Kind()
	raw := d.r.Raw()
	switch {
	case kind == jsonscan.Null, kind == jsonscan.Bool && len(raw) > 0 && raw[0] == 'f':
	case string(raw) == "[]", string(raw) == "{}", string(raw) == `""`:
	default:
		d.q.Dropped.Add(name)
	}
}

// where is the path of a member of what is being read.
func (d *requestDecoder) where(member string) string {
	if d.message < 0 {
		return member
	}
	path := "messages[" + strconv.Itoa(d.message) + "]"
	if d.part >= 0 {
		path += ".content[" + strconv.Itoa(d.part) + "]"
	}
	if member != "" {
		path += "." + member
	}
	return path
}

// fail keeps the first mistake.
func (d *requestDecoder) fail(member, message string) {
	if d.err == nil {
		d.err = &wire.RequestError{Param: d.where(member), Message: message}
	}
}

// refuse says that the next value is of the wrong kind, and skips it.
func (d *requestDecoder) refuse(member, want string) {
	if d.err == nil {
		kind := d.r.Kind()
		d.err = &wire.RequestError{
			Param:   d.where(member),
			Message: fmt.Sprintf("%q must be %s, not %s", d.where(member), want, kind),
		}
	}
	d.r.Skip()
}

// str reads a string, which is one.
func (d *requestDecoder) str() string {
	s, _ := d.r.Text()
	return s
}

// text reads a string; null is the empty one.
func (d *requestDecoder) text(member string) string { return jsonscan.TextOf(d.rawText(member)) }

// rawText is text, but gives what is between the quotes.
func (d *requestDecoder) rawText(member string) []byte {
	switch d.r.Kind() {
	case jsonscan.String:
		raw, _ := d.r.RawString()
		return raw
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Object, jsonscan.Array, jsonscan.Number, jsonscan.Bool:
		d.refuse(member, "a string")
	}
	return nil
}

// word is text for what is mostly one of a few words.
func (d *requestDecoder) word(member string, known ...string) string {
	return jsonscan.WordOf(d.rawText(member), known...)
}

// number reads a number; nil if it is null.
func (d *requestDecoder) number(member string) *float64 {
	switch d.r.Kind() {
	case jsonscan.Number:
		f, err := strconv.ParseFloat(string(d.r.Raw()), 64)
		if err != nil {
			d.fail(member, fmt.Sprintf("%q is a number too large to be meant", d.where(member)))
			return nil
		}
		return &f
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Object, jsonscan.Array, jsonscan.String, jsonscan.Bool:
		d.refuse(member, "a number")
	}
	return nil
}

// whole reads a whole number; nil if it is null.
func (d *requestDecoder) whole(member string) *int64 {
	switch d.r.Kind() {
	case jsonscan.Number:
		n, ok := d.r.Int()
		if !ok {
			d.fail(member, fmt.Sprintf("%q must be a whole number", d.where(member)))
			return nil
		}
		return &n
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Object, jsonscan.Array, jsonscan.String, jsonscan.Bool:
		d.refuse(member, "a whole number")
	}
	return nil
}

func (d *requestDecoder) integer(member string) int64 {
	if n := d.whole(member); n != nil {
		return *n
	}
	return 0
}

// boolean reads true or false; nil if it is null.
func (d *requestDecoder) boolean(member string) *bool {
	switch d.r.Kind() {
	case jsonscan.Bool:
		b, _ := d.r.Bool()
		return &b
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Object, jsonscan.Array, jsonscan.String, jsonscan.Number:
		d.refuse(member, "true or false")
	}
	return nil
}

// object reads an object as it is; nil if it is null or empty.
func (d *requestDecoder) object(member string) []byte {
	switch d.r.Kind() {
	case jsonscan.Object:
		raw := d.r.Raw()
		if isEmptyObject(raw) {
			return nil
		}
		return raw
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Array, jsonscan.String, jsonscan.Number, jsonscan.Bool:
		d.refuse(member, "an object")
	}
	return nil
}

// enter enters an object; false if it is null or none, which has been read then.
func (d *requestDecoder) enter(member string) bool {
	switch d.r.Kind() {
	case jsonscan.Object:
		return d.r.Object()
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Array, jsonscan.String, jsonscan.Number, jsonscan.Bool:
		d.refuse(member, "an object")
	}
	return false
}

// list enters an array; false if it is null or none, which has been read then.
func (d *requestDecoder) list(member string) bool {
	switch d.r.Kind() {
	case jsonscan.Array:
		return d.r.Array()
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Object, jsonscan.String, jsonscan.Number, jsonscan.Bool:
		d.refuse(member, "an array")
	}
	return false
}
