package llm

import (
	"encoding/base64"
	"testing"

	"pgregory.net/rapid"
)

// anyBytes favours the bytes that mean something to Wrap.
func anyBytes(t *rapid.T, label string) string {
	one := rapid.OneOf(rapid.SampledFrom([]byte(`|%2C7 `)), rapid.Byte())
	return string(rapid.SliceOfN(one, 0, 20).Draw(t, label))
}

func TestWrapRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := Seal{
			Vendor: rapid.SampledFrom([]Vendor{OpenAI, Anthropic, Google, Amazon, Cohere, ""}).Draw(t, "vendor"),
			Kind:   rapid.SampledFrom([]SealKind{Signed, Redacted, Encrypted}).Draw(t, "kind"),
			Data:   anyBytes(t, "data"),
			ID:     anyBytes(t, "id"),
		}
		text := Wrap(&want)
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			t.Fatal(err)
		}
		if got, ok := Unwrap(text); !ok || got != want {
			t.Fatalf("%+v came back as %+v, %v", want, got, ok)
		}
	})
}

// What a vendor made itself is never taken for a wrapped one.
func TestUnwrapOthers(t *testing.T) {
	t.Parallel()
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for name, text := range map[string]string{
		"nothing": "", "a signature": "EqQBCgIYAhIM/+==", "no base64": wrappedMark + "!", "an unknown kind": encode(sealMark + "openai|x|i|d"),
		"too few fields": encode(sealMark + "openai|s"), "another version": encode("evergate2|openai|s|i|d"), "encrypted": "gAAAAABo",
	} {
		if s, ok := Unwrap(text); ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
