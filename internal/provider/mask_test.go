package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func masks(secrets ...string) *masker {
	var c []Secret
	for _, s := range secrets {
		c = append(c, Secret(s))
	}
	return newMasker(c)
}

func TestMask(t *testing.T) {
	const own = "sk-proj-operator-secret-0001"
	for _, tc := range []struct{ name, in, want string }{
		{"own, whole", "Incorrect API key provided: " + own + ".", "Incorrect API key provided: ***."},
		{"own, first and last part", "key sk-proj-********ret-0001", "key ***"},
		{"own, a part", "your key ends in ret-0001, sorry", "your key ends in ***, sorry"},
		{"own, twice", own + own, "***"},
		{"own, within a URL", "GET /x?key=" + own + "&a=b", "GET /x?key=***&a=b"},
		{"openai's form", "Incorrect API key provided: sk-abc***xyz. You can find your API key at https://platform.openai.com/account/api-keys.", "Incorrect API key provided: ***. You can find your API key at https://platform.openai.com/account/api-keys."},
		{"another key of openai", "use sk-live1234567890 instead", "use *** instead"},
		{"groq", "gsk_abcd1234", "***"},
		{"xai", "bad key xai-abcdefgh", "bad key ***"},
		{"google", "key AIzaSyA-1234567 is bad", "key *** is bad"},
		{"our own", "got eg_VVZdtWlYZm_dk1Nkuf5qA5KfEeUPgSfFhHohmlDnd3U5nLupiN4gPp4CkqnZ instead of eg_short", "got *** instead of eg_short"},
		{"jwt", "token eyJhbGciOi.eyJzdWIiOi.c2lnbmF0", "token ***"},
		{"jwt at the end of a sentence", "token eyJhbGciOi.eyJzdWIiOi.c2lnbmF0. It", "token ***. It"},
		{"google's access token", `{"access":"ya29.a0AfH6SMBx9QwErT_-abc"}`, `{"access":"***"}`},
		{"google's other access token", "got ya29.c.c0ASRK0Gb123 here", "got *** here"},
		{"aws session token", "x-amz-date:1\nIQoJb3JpZ2luX2VjEJr//////////wEa", "x-amz-date:1\n***"},
		{"bedrock key", "ABSKQmVkcm9ja0FQSUtleS1hYmNk is not valid", "*** is not valid"},
		{"bearer", "Authorization: Bearer abcdefgh-ijkl", "Authorization: Bearer ***"},
		{"deepseek's form", "Your api key: ****ekey is invalid", "Your api key: *** is invalid"},
		{"random after a key word", "api_key=0123456789abcdef0123456789abcdef rejected", "api_key=*** rejected"},
		{"random without a key word", "request 0123456789abcdef0123456789abcdef failed", "request 0123456789abcdef0123456789abcdef failed"},
		{"a field's name after a key word", `{"tokens":{"ephemeral_5m_input_tokens":0}}`, `{"tokens":{"ephemeral_5m_input_tokens":0}}`},
		{"a key as a field's name", `{"invalid_keys":{"0123456789abcdef0123456789abcdef":"revoked"}}`, `{"invalid_keys":{"***":"revoked"}}`},
		{"request id", "request id req_0123456789abcdef01234567", "request id req_0123456789abcdef01234567"},
		{"words", "This model's maximum context length is 4097 tokens.", "This model's maximum context length is 4097 tokens."},
		{"a name like a key", "module sk-learn missing", "module sk-learn missing"},
		{"long words after key", "the key internationalization-of-everything is unknown", "the key internationalization-of-everything is unknown"},
		{"empty", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := masks(own).text(tc.in); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// Of the configured headers those that carry a credential are masked, and no others: they may say what is in every text.
func TestMaskConfiguredHeaders(t *testing.T) {
	o := Options{Headers: map[string]Secret{
		"X-Gateway-Token": "hunter2-hunter2-hunter2", "Authorization": "Basic b3BlcmF0b3I6aHVudGVyMg", "Cookie": "sid=correct-horse",
		"Http-Referer": "https://example.com", "Openai-Beta": "assistants=v2",
	}}
	got := newMasker(o.secrets()).text("a hunter2-hunter2-hunter2 b b3BlcmF0b3I6aHVudGVyMg c correct-horse d https://example.com e assistants=v2 f Basic needs")
	if want := "a *** b *** c *** d https://example.com e assistants=v2 f Basic needs"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A short key is masked as a word, so that a placeholder does not blank the text.
func TestMaskShortSecret(t *testing.T) {
	if got := masks("kp").text("key kp is not kph or skp: kp"); got != "key *** is not kph or skp: ***" {
		t.Errorf("%q", got)
	}
}

// A masked JSON body is JSON with the same members.
func TestMaskKeepsJSON(t *testing.T) {
	in := []byte(`{"error":{"message":"bad key sk-a$HOME$$b{c}\"}","code":"invalid_api_key","k":["Bearer abcdefgh"]}}`)
	out := masks("sk-a$HOME$$b{c}").bytes(in)
	var v struct {
		Error struct{ Message, Code string }
	}
	if err := json.Unmarshal(out, &v); err != nil || v.Error.Code != "invalid_api_key" {
		t.Errorf("%v: %s", err, out)
	}
	if strings.Contains(string(out), "HOME") || strings.Contains(string(out), "abcdefgh") {
		t.Errorf("%s", out)
	}
}

// An error's text is masked for the log, and the error stays what it is.
func TestMaskCause(t *testing.T) {
	m := masks("sk-proj-operator-secret-0001")
	err := m.cause(fmt.Errorf("malformed: sk-proj-operator-secret-0001: %w", io.ErrUnexpectedEOF))
	if err.Error() != "malformed: ***: unexpected EOF" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	if got, wrapped := m.cause(io.EOF).(*maskedError); wrapped { //nolint:errorlint // itself, not what it wraps
		t.Errorf("an error without a secret was wrapped: %v", got)
	}
}

// CONTRACT §5: no error carries a credential, whatever the upstream does with it.
func FuzzMask(f *testing.F) {
	f.Add("Incorrect API key provided: ", "sk-proj-operator-secret-0001", ". More text", 3)
	f.Add("", "********", "****", 0)
	f.Add("Bearer ", "abcdefgh", "abcdefgh", 8)
	f.Add("a**", "***bbbbb", "*bbbbb", 2)
	f.Fuzz(func(t *testing.T, before, secret, after string, cut int) {
		if len(secret) < gram {
			t.Skip()
		}
		m := masks(secret, "another-secret-value-1")
		out := m.text(before + secret + after)
		if strings.Contains(out, secret) {
			t.Errorf("%q holds %q", out, secret)
		}
		// A part of it, where it cannot run on into what follows.
		if cut = min(max(cut, 0), len(secret)-gram); cut > 0 && !strings.Contains(masked, secret[cut:cut+gram]) {
			part := secret[cut : cut+gram]
			if got := m.text("«" + part + "»"); strings.Contains(got, part) {
				t.Errorf("%q holds a part of %q", got, secret)
			}
		}
	})
}

// A reply header that echoes a credential goes to nobody.
func TestMaskHeader(t *testing.T) {
	h := map[string][]string{"X-Echo": {"first", "Authorization: Bearer sk-secret-1234567890"}, "X-Test": {"a test"}, "X-Other": {"sk-sec"}}
	masks("sk-secret-1234567890", "test").header(h, "")
	if len(h) != 2 || h["X-Test"] == nil || h["X-Other"] == nil {
		t.Errorf("left: %v", h)
	}
}
