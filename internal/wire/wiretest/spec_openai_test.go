package wiretest_test

import (
	"testing"

	"evergate/internal/wire"
	"evergate/internal/wire/openaichat"
)

// openAISpec is what is shipped of the OpenAI API.
func openAISpec(t testing.TB, extras ...string) *specification {
	t.Helper()
	schemas := at(shipped(t, "openai.json"), "components", "schemas").(object)
	kind := at(schemas, "ChatCompletionMessageToolCallChunk", "properties", "type").(object)
	kind["enum"] = append(items(kind, "enum"), "custom")
	return newSpecification(t, schemas, extras...)
}

func clientNamed(name string) *client {
	for _, c := range clients() {
		if c.name == name {
			return &c
		}
	}
	panic("BUG: no client is called " + name)
}

func upstreamNamed(name string) *upstream {
	for _, u := range upstreams() {
		if u.name == name {
			return &u
		}
	}
	panic("BUG: no upstream is called " + name)
}

// Chat completions and their chunks are what OpenAI says they are.
func TestSpecChat(t *testing.T) {
	t.Parallel()
	spec := openAISpec(t,
		"reasoning_content", "reasoning_details", "extra_content", // what others made of the dialect: thoughts, and seals beside them
		"url_citation.content",                                                                     // OpenRouter's: what the source says
		"ChatCompletionStreamResponseDelta.audio", "ChatCompletionStreamResponseDelta.annotations", // the spec has them in whole messages alone; OpenAI streams them
		"ChatCompletionMessageToolCallChunk.custom", // streamed calls of free-text tools, of which the spec says nothing
	)
	replies, events := saidTo(t, clientNamed("chat"))
	for _, w := range replies {
		if err := spec.check("CreateChatCompletionResponse", w.data); err != nil {
			t.Errorf("%s: %s", w.what, mismatch(err, w.data))
		}
	}
	for _, w := range events {
		if err := spec.check("CreateChatCompletionStreamResponse", w.data); err != nil {
			t.Errorf("%s: %s", w.what, mismatch(err, w.data))
		}
	}
}

// Responses and the events of their streams are what OpenAI says they are.
func TestSpecResponses(t *testing.T) {
	t.Parallel()
	spec := openAISpec(t,
		"store", "CustomToolCall.status", // are in recorded responses
		"ResponseLogProb.bytes", "top_logprobs.bytes", // whole responses must have them, and streams are made of the same
		"output_tokens_details.audio_tokens", // as chat completions count them
		"input_tokens_details.audio_tokens",
	)
	replies, events := saidTo(t, clientNamed("responses"))
	for _, w := range replies {
		if err := spec.check("Response", w.data); err != nil {
			t.Errorf("%s: %s", w.what, mismatch(err, w.data))
		}
	}
	for _, w := range events {
		spec.checkEvent(t, "ResponseStreamEvent", w)
	}
}

// checkEvent holds an event against the member of a union that its type names.
func (s *specification) checkEvent(t *testing.T, union string, w written) {
	t.Helper()
	v, err := parse(w.data)
	if err != nil {
		t.Fatal(err)
	}
	name := s.oneOf(union, str(v, "type"))
	if name == "" {
		t.Errorf("%s: no event is called %s", w.what, str(v, "type"))
		return
	}
	if err := s.check(name, w.data); err != nil {
		t.Errorf("%s: %s", w.what, mismatch(err, w.data))
	}
}

// What OpenAI is asked is what it says it takes.
func TestSpecOpenAIRequests(t *testing.T) {
	t.Parallel()
	spec := openAISpec(t)
	for upstream, root := range map[string]string{"chat": "CreateChatCompletionRequest", "azure": "CreateChatCompletionRequest", "responses": "CreateResponse"} {
		for _, w := range askedOf(t, upstreamNamed(upstream)) {
			if err := spec.check(root, w.data); err != nil {
				t.Errorf("%s: %s", w.what, mismatch(err, w.data))
			}
		}
	}
}

// Errors are what OpenAI's are, whole and as the last event of a stream.
func TestSpecOpenAIErrors(t *testing.T) {
	t.Parallel()
	spec := openAISpec(t,
		"attempts", "request_id", // how it came to the error: our own
		"ResponseFailedEvent.error", // where the SDKs look for what to raise
	)
	for _, f := range failures() {
		for _, d := range []wire.Dialect{clientNamed("chat").dialect, clientNamed("responses").dialect, openaichat.Completions{}, openaichat.Embeddings{}} {
			body := d.AppendError(nil, f)
			if err := spec.check("ErrorResponse", body); err != nil {
				t.Errorf("%s, %d: %s", d.Name(), f.Status, mismatch(err, body))
			}
			if d.Name() == "embeddings" {
				continue // never streamed
			}
			events, err := eventsOf(d.AppendStreamError(nil, f))
			if err != nil {
				t.Fatalf("%s: %v", d.Name(), err)
			}
			for _, e := range events {
				w := written{d.Name(), []byte(e.data)}
				if d.Name() == "responses" {
					spec.checkEvent(t, "ResponseStreamEvent", w)
				} else if err := spec.check("ErrorResponse", w.data); err != nil {
					t.Errorf("%s, %d: %s", d.Name(), f.Status, mismatch(err, w.data))
				}
			}
		}
	}
}

// Vectors, and the requests for them, are what OpenAI says they are.
func TestSpecEmbeddings(t *testing.T) {
	t.Parallel()
	spec := openAISpec(t)
	for _, r := range recordedVectors() {
		for _, c := range embedClients() {
			q := embedRequest(t, c.dialect, []byte(c.request))
			if _, ok := c.dialect.(openaichat.Embeddings); !ok {
				sent, err := wire.NewTranslation(c.dialect, openaichat.Embeddings{}, q, wire.Target{Model: "m"}).AppendRequest(nil, wire.Rewrite{Model: "m"})
				if err != nil {
					t.Fatal(err)
				}
				if err := spec.check("CreateEmbeddingRequest", sent); err != nil {
					t.Errorf("%s: %s", c.name, mismatch(err, sent))
				}
				continue
			}
			said, err := wire.NewTranslation(c.dialect, r.dialect, q, wire.Target{Model: "m"}).AppendReply(nil, r.body(t))
			if err != nil {
				t.Fatal(err)
			}
			root := "CreateEmbeddingResponse"
			if c.name == "base64" {
				continue // the spec forgets that form
			}
			if err := spec.check(root, said); err != nil {
				t.Errorf("%s to %s: %.1500s", r.file, c.name, mismatch(err, said))
			}
		}
	}
}
