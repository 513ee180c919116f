package wiretest_test

import (
	"slices"
	"testing"

	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/gemini"
)

// ownSpec is a description of ours, written by hand: the vendor's own may not be shipped.
func ownSpec(t testing.TB, file string, extras ...string) *specification {
	t.Helper()
	return newSpecification(t, at(shipped(t, file), "components", "schemas").(object), extras...)
}

// dialectSpec is what a vendor says of a dialect: the names of its schemas, or of a union of events.
type dialectSpec struct {
	spec                           *specification
	reply, event, failure, request string
	union                          bool
}

func (d *dialectSpec) checkSaid(t *testing.T, c *client) {
	t.Helper()
	replies, events := saidTo(t, c)
	for _, w := range replies {
		if err := d.spec.check(d.reply, w.data); err != nil {
			t.Errorf("%s: %s", w.what, mismatch(err, w.data))
		}
	}
	for _, w := range events {
		d.checkEvent(t, w)
	}
}

func (d *dialectSpec) checkEvent(t *testing.T, w written) {
	t.Helper()
	if d.union {
		d.spec.checkEvent(t, d.event, w)
	} else if err := d.spec.check(d.event, w.data); err != nil {
		t.Errorf("%s: %s", w.what, mismatch(err, w.data))
	}
}

func (d *dialectSpec) checkAsked(t *testing.T, u *upstream) {
	t.Helper()
	for _, w := range askedOf(t, u) {
		if err := d.spec.check(d.request, w.data); err != nil {
			t.Errorf("%s: %s", w.what, mismatch(err, w.data))
		}
	}
}

func (d *dialectSpec) checkFailures(t *testing.T, c wire.Dialect) {
	t.Helper()
	for _, f := range failures() {
		body := c.AppendError(nil, f)
		if err := d.spec.check(d.failure, body); err != nil {
			t.Errorf("%d: %s", f.Status, mismatch(err, body))
		}
		events, err := eventsOf(c.AppendStreamError(nil, f))
		if err != nil || len(events) != 1 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		if err := d.spec.check(d.failure, []byte(events[0].data)); err != nil {
			t.Errorf("%d: %s", f.Status, mismatch(err, []byte(events[0].data)))
		}
	}
}

// Messages, the events of their streams, errors, and what Anthropic is asked, are what it documents.
func TestSpecMessages(t *testing.T) {
	t.Parallel()
	d := dialectSpec{ownSpec(t, "anthropic.json", "error.attempts", "error.code", "error.param"), "Message", "Event", "Error", "Request", true}
	d.checkSaid(t, clientNamed("messages"))
	d.checkAsked(t, upstreamNamed("anthropic"))
	d.checkFailures(t, anthropic.Messages{})
}

// The same against Anthropic's own description, where there is one.
func TestSpecMessagesWhole(t *testing.T) {
	t.Parallel()
	schemas := trimOpenAPI(wholeSpec(t, "anthropic.openapi.json.gz"), "Message", "MessageStreamEvent", "ErrorResponse", "CreateMessageParams")
	// Three things it does not know: blocks of an upstream that it made itself and that go through as they are, some older than
	// the member "caller"; what 413 is called; and the thinking among the tokens. Recorded traffic has them.
	for _, name := range []string{"ResponseServerToolUseBlock", "ResponseWebSearchToolResultBlock", "ResponseToolSearchToolResultBlock"} {
		block := at(schemas, name).(object)
		block["required"] = slices.DeleteFunc(items(block, "required"), func(v any) bool { return v == "caller" })
	}
	addMember(schemas, "ResponseCompactionBlock", "compaction", "content")
	for _, union := range []any{at(schemas, "ContentBlock"), at(schemas, "ContentBlockStartEvent", "properties", "content_block")} {
		union.(object)["anyOf"] = append(items(union, "anyOf"), object{"$ref": schemasPlace + "ResponseCompactionBlock"})
	}
	addMember(schemas, "RequestTooLargeError", "request_too_large", "message")
	kinds := at(schemas, "ErrorResponse", "properties", "error").(object)
	kinds["anyOf"] = append(items(kinds, "anyOf"), object{"$ref": schemasPlace + "RequestTooLargeError"})
	spec := newSpecification(t, schemas, "Usage.output_tokens_details", "MessageDeltaUsage.output_tokens_details", "code", "param", "attempts")
	d := dialectSpec{spec, "Message", "MessageStreamEvent", "ErrorResponse", "CreateMessageParams", true}
	d.checkSaid(t, clientNamed("messages"))
	d.checkAsked(t, upstreamNamed("anthropic"))
	d.checkFailures(t, anthropic.Messages{})
}

// addMember adds a schema of an object of a type with one more member.
func addMember(schemas object, name, kind, member string) {
	schemas[name] = object{"type": "object", "required": array{"type", member}, "properties": object{"type": object{"const": kind}, member: true}}
}

// Answers of generateContent, whole and streamed, errors, and what Gemini is asked, are what Google documents.
func TestSpecGemini(t *testing.T) {
	t.Parallel()
	d := dialectSpec{ownSpec(t, "gemini.json"), "Response", "Response", "Error", "Request", false}
	d.checkSaid(t, clientNamed("gemini"))
	d.checkAsked(t, upstreamNamed("gemini"))
	d.checkFailures(t, gemini.Generate{})
}

// The same against Google's own description, where there is one. Of errors it says nothing.
func TestSpecGeminiWhole(t *testing.T) {
	t.Parallel()
	schemas := trimOpenAPI(wholeSpec(t, "gemini.openapi.json.gz"), "GenerateContentResponse", "GenerateContentRequest")
	d := dialectSpec{newSpecification(t, schemas), "GenerateContentResponse", "GenerateContentResponse", "", "GenerateContentRequest", false}
	d.checkSaid(t, clientNamed("gemini"))
	d.checkAsked(t, upstreamNamed("gemini"))
}

// What Bedrock is asked is what its service model has.
func TestSpecConverse(t *testing.T) {
	t.Parallel()
	d := dialectSpec{spec: bedrockSpec(t), request: "ConverseRequest"}
	d.checkAsked(t, upstreamNamed("converse"))
}
