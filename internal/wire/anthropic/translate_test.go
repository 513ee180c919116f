package anthropic

import (
	"strings"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// The two halves together, as the gateway joins them: a Claude whose model stands in the path, asked by way of llm.
func TestTranslation(t *testing.T) {
	t.Parallel()
	r, err := Messages{}.ReadRequest([]byte(`{"model":"alias","max_tokens":50,"stream":true,"messages":[{"role":"user","content":"q"}],"container":"c"}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := wire.Decode(Messages{}, &r)
	if err != nil {
		t.Fatal(err)
	}
	tr := wire.NewTranslation(Messages{}, Messages{}, c, wire.Target{Vendor: llm.Anthropic})
	got, err := tr.AppendRequest([]byte("x"), wire.Rewrite{
		Model: "claude-sonnet-4-5@20250929", OmitModel: true, Params: []wire.Param{{Name: "anthropic_version", Value: []byte(`"vertex-2023-10-16"`)}},
	})
	const want = `x{"max_tokens":50,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],"stream":true,"anthropic_version":"vertex-2023-10-16"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if d := tr.Dropped(); len(d) != 1 || d[0] != "container" {
		t.Error(d)
	}
	var out []byte
	for _, data := range []string{startEvent, openEvent, saysText("a"), closeEvent, finishEvent} {
		if out, err = tr.AppendEvent(out, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if said := tr.Said(); said.ID != "msg_1" || said.Model != "claude-x" || !said.Begun {
		t.Errorf("%+v", said)
	}
	out = tr.AppendEnd(out)
	if err := grammar(out); err != nil {
		t.Error(err)
	}
	if !strings.Contains(string(out), `"usage":{"input_tokens":300,"cache_creation_input_tokens":4000,"cache_read_input_tokens":2000,"output_tokens":1,`) {
		t.Errorf("message_start does not say what is known of the prompt: %s", out)
	}
	if wire.CanTranslate(CountTokens{}, Messages{}) {
		t.Error("a count cannot be translated")
	}
}

// What each operation says of itself.
func TestOperations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d          wire.Dialect
		name, path string
		side       bool
	}{{Messages{}, "messages", "/messages", false}, {CountTokens{}, "count_tokens", "/messages/count_tokens", true}} {
		if c.d.Name() != c.name || c.d.Path() != c.path || c.d.Side() != c.side {
			t.Errorf("%s %s %v", c.d.Name(), c.d.Path(), c.d.Side())
		}
	}
	d := CountTokens{}
	r, err := d.ReadRequest([]byte(`{"model":"m","messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(d.AppendRequest(nil, &r, wire.Rewrite{Model: "n"})); got != `{"model":"n","messages":[]}` {
		t.Error(got)
	}
	if code, message := d.ReadError([]byte(`{"error":{"type":"t","message":"m"}}`)); code != "t" || message != "m" {
		t.Error(code, message)
	}
	if code, message := d.ReadError([]byte(`<html>`)); code+message != "" {
		t.Error(code, message)
	}
}
