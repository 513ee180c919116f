package provider

import "testing"

// A mask of several clients takes out what each of them and whoever made it knows, and longer parts of that; common words and the names of fields stay.
func TestMaskOfAll(t *testing.T) {
	t.Parallel()
	a, b := &Client{options: Options{Credentials: []Credential{{Value: "sk-key-responses"}}}}, &Client{options: Options{Credentials: []Credential{{Value: "other-credential-9"}}}}
	a.newMasking()
	b.newMasking()
	m := NewMask([]*Client{a, b}, "admin-token", "")
	for text, want := range map[string]string{
		`{"object":"response","previous_response_id":"x"}`: "",
		`{"k":"sk-key-responses"}`:                         `{"k":"***"}`,
		"it was other-credential-":                         "it was ***",
		"Bearer admin-token.":                              "Bearer ***.",
		`"input_tokens":0,"ephemeral_5m_input_tokens":0`:   "",
		`"token":"0123456789abcdef0123456789"`:             `"token":"***"`,
	} {
		if want == "" {
			want = text
		}
		if got := string(m.Bytes([]byte(text))); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	b.options.Credentials[0].Value = "renewed-credential-7" // as a token is
	b.newMasking()
	if got := string(m.Bytes([]byte("renewed-credential-7"))); got != "***" {
		t.Error(got)
	}
}
