package wiretest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/testkit"
)

// What the replies seal their thoughts with, by the vendor who made it.
func sealsOf(v llm.Vendor) []string {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	switch v {
	case llm.Anthropic:
		redacted := b64("redacted thought of claude")
		return []string{b64("signature of claude: thought one"), redacted, b64(redacted)} // Bedrock has it as a blob
	case llm.OpenAI:
		return []string{"gAAAAABthought-of-gpt-one="}
	case llm.Google:
		return []string{b64("thought signature of gemini")}
	case llm.Amazon, llm.Cohere:
	}
	return nil
}

// TestPairsThoughtsComeBack goes one turn further: the client puts the answer into its history as it came, whole or
// gathered from a stream, and asks again. Who made the thoughts gets its seals back byte for byte, others get none.
func TestPairsThoughtsComeBack(t *testing.T) {
	t.Parallel()
	for _, c := range conversations() {
		if !c.thinks {
			continue
		}
		for _, from := range clients() {
			for _, to := range upstreams() {
				t.Run(c.name+"/"+from.name+"-"+to.name, func(t *testing.T) {
					t.Parallel()
					if _, _, ok := replyOf(t, &c, &to); ok {
						comesBack(t, &c, &from, &to)
					}
				})
			}
		}
	}
}

func comesBack(t *testing.T, c *conversation, from *client, to *upstream) {
	t.Helper()
	plain, stream, _ := replyOf(t, c, to)
	model, body := to.asked(c), request(t, c, from)
	whole, err := ask(t, from, to, model, body, false)
	if err != nil {
		t.Fatal(err)
	}
	answer, f, err := whole.plain(plain)
	if f != nil || err != nil {
		t.Fatal(f, err)
	}
	streamed, err := ask(t, from, to, model, body, true)
	if err != nil {
		t.Fatal(err)
	}
	said, err := streamed.relay(stream)
	if err != nil {
		t.Fatal(err)
	}
	r := readers()[from.name]
	gathered, err := r.wholeOf(said.bytes)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	next, nextOfStream := nextTurn(t, from, body, reply), nextTurn(t, from, body, gathered)

	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: a client of %s got an answer of %s, and asks again\n", c.name, from.name, to.name)
	for _, again := range append(upstreams(), novaToo()) {
		a, err := ask(t, from, &again, again.asked(c), next, false)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ask(t, from, &again, again.asked(c), nextOfStream, false)
		if err != nil {
			t.Fatal(err)
		}
		if from.dialect.Name() != again.dialect.Name() && !sameJSON(t, a.sent, s.sent) {
			t.Errorf("%s: after a whole reply and after a stream it is not the same:\n%s\n%s", again.name, a.sent, s.sent)
		}
		fmt.Fprintf(&b, "\n== to %s\n", again.name)
		switch {
		case again.name == to.name:
			pretty(t, &b, a.sent)
			fmt.Fprintf(&b, "dropped: %s\n", list(a.dropped()))
		case from.dialect.Name() == again.dialect.Name():
			fmt.Fprintf(&b, "as the client says it\n")
			continue
		default:
			fmt.Fprintf(&b, "dropped: %s\n", list(a.dropped()))
		}
		checkSeals(t, &again, c, to, a, s)
	}
	testkit.Golden(t, filepath.Join("thoughts", c.name, from.name+"-"+to.name+".txt"), b.Bytes())
}

// checkSeals says whether a request holds the seals of the answer that its upstream can read, and no other.
func checkSeals(t *testing.T, again *upstream, c *conversation, to *upstream, asked ...*attempt) {
	t.Helper()
	answer, _, _ := replyOf(t, c, to)
	r := readers()[to.name]
	said, err := r.ofPlain(answer)
	if err != nil {
		t.Fatal(err)
	}
	calls := said.Choices[0].Calls
	maker, reader := to.target(to.asked(c)).Vendor, again.target(again.asked(c)).Vendor
	for _, a := range asked {
		for _, v := range []llm.Vendor{llm.Anthropic, llm.OpenAI, llm.Google} {
			has := holds(a.sent, sealsOf(v))
			want := v == maker && v == reader && holds(answer, sealsOf(v))
			switch {
			case again.name == "chat" || again.name == "azure": // have no place for them
				want = false
			case v == llm.Google && a.from.name == "messages" && len(calls) == 0: // nor has a text of Anthropic's
				want = false
			}
			if has != want {
				t.Errorf("%s: seals of %s: %v, want %v\n%s", again.name, v, has, want, a.sent)
			}
		}
		wrapped := base64.StdEncoding.EncodeToString([]byte("evergate1"))
		if strings.Contains(string(a.sent), wrapped) && a.translation != nil {
			t.Errorf("%s: a wrapped seal goes to an upstream\n%s", again.name, a.sent)
		}
	}
}

func holds(body []byte, seals []string) bool {
	return slices.ContainsFunc(seals, func(s string) bool { return bytes.Contains(body, []byte(s)) })
}

// sameJSON says whether two requests mean the same, whatever the spacing of arguments in texts.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(x, y, cmp.FilterValues(func(a, b string) bool { return strings.HasPrefix(a, "{") && strings.HasPrefix(b, "{") },
		cmp.Comparer(func(a, b string) bool {
			var x, y any
			return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
		})))
}

// nextTurn is a request with its answer, and what comes after it, in its history, as the SDKs' users write it.
func nextTurn(t *testing.T, from *client, body []byte, reply object) []byte {
	t.Helper()
	q, err := parse(body)
	if err != nil {
		t.Fatal(err)
	}
	said := readers()[from.name].read(reply).Choices[0]
	const result, question = "12 °C, rain", "And then?"
	switch from.name {
	case "chat":
		message := at(reply, "choices", 0, "message").(object)
		message["role"] = "assistant"
		history := append(items(q, "messages"), message)
		for _, c := range said.Calls {
			history = append(history, object{"role": "tool", "tool_call_id": c.ID, "content": result})
		}
		if len(said.Calls) == 0 {
			history = append(history, object{"role": "user", "content": question})
		}
		q["messages"] = history
	case "messages":
		var content array
		for _, c := range said.Calls {
			content = append(content, object{"type": "tool_result", "tool_use_id": c.ID, "content": result})
		}
		if len(content) == 0 {
			content = array{object{"type": "text", "text": question}}
		}
		q["messages"] = append(items(q, "messages"), object{"role": "assistant", "content": reply["content"]}, object{"role": "user", "content": content})
	case "responses":
		input := items(q, "input")
		if text, ok := q["input"].(string); ok {
			input = array{object{"role": "user", "content": text}}
		}
		input = append(input, items(reply, "output")...)
		for _, c := range said.Calls {
			input = append(input, object{"type": "function_call_output", "call_id": c.ID, "output": result})
		}
		if len(said.Calls) == 0 {
			input = append(input, object{"role": "user", "content": question})
		}
		q["input"] = input
	case "gemini":
		var parts array
		for _, c := range said.Calls {
			f := object{"name": c.Name, "response": object{"result": result}}
			if c.ID != "" {
				f["id"] = c.ID
			}
			parts = append(parts, object{"functionResponse": f})
		}
		if len(parts) == 0 {
			parts = array{object{"text": question}}
		}
		q["contents"] = append(items(q, "contents"), at(reply, "candidates", 0, "content"), object{"role": "user", "parts": parts})
	}
	out, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
