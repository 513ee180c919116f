package attempt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// What upstreams quote of a request stays out of what is kept of their errors; what they say of its form stays in.
func TestUnquoted(t *testing.T) {
	const secret = "my password is hunter2-hunter2"
	body := `{"model":"gpt-4o-mini-2024-07-18","max_completion_tokens":9,"messages":[{"role":"user","content":"` + secret + `, Größe: \u0041 \"q\"\nnext line of it"}]}`
	escaped, _ := json.Marshal(body)
	for _, tc := range []struct{ name, message, want string }{
		{"nothing", "Rate limit reached for gpt-4o-mini-2024-07-18 in organization org-1 on requests per min", ""},
		{"a member's name", "Invalid value for 'max_completion_tokens': integer above maximum value", ""},
		{"the model", "The model `gpt-4o-mini-2024-07-18` does not exist", ""},
		{"short", "user", ""},
		{"a short word of both", "password is too long", ""},
		{"a quotation", "Invalid input: '" + secret + "' was flagged", "Invalid input: '[…]' was flagged"},
		{"a part", "seen in: is hunter2-hunt", "seen in: […]"},
		{"in capitals", "FLAGGED: " + strings.ToUpper(secret), "FLAGGED: […]"},
		{"spread by marks", "flagged: my.password.is.hunter2", "flagged: […]"},
		{"escaped twice", "you sent " + string(escaped), `you sent "{\"model\":\"gpt-4o-mini-2024-07-18\",\"max_completion_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"[…]\u0041 \\\"q\\\"\\n[…]\"}]}"`},
		{"twice", secret + " and " + secret, "[…] and […]"},
		{"all of it", secret, "[…]"},
		{"broken UTF-8 around it", "\xff" + secret + "\xff", "[…]\xff"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := tc.want
			if want == "" {
				want = tc.message
			}
			got := unquoted(tc.message, []byte(body), "gpt-4o-mini-2024-07-18")
			if tc.name == "broken UTF-8 around it" || tc.name == "escaped twice" {
				if strings.Contains(got, "hunter2") || strings.Contains(got, "next line") {
					t.Errorf("%q", got)
				}
				return
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	if got := unquoted(strings.Repeat("x", 300), nil, ""); len(got) != unseen {
		t.Errorf("without a body %d bytes are kept", len(got))
	}
	form := "--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\n" + secret + "\r\n--b--\r\n"
	if got := unquoted("what is "+secret, []byte(form), ""); got != "what is […]" {
		t.Errorf("of a form: %q", got)
	}
	upload := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n" + strings.Repeat("\x00\x01", 2*quotable) + "\r\n" + form
	if got := unquoted("what is "+secret, []byte(upload), ""); got != "what is […]" {
		t.Errorf("behind the file of a form: %q", got)
	}
	long := `{"a":"` + strings.Repeat("y ", 2*quotable) + `","prompt":"` + secret + `"}`
	if got := unquoted("what is "+secret, []byte(long), ""); got != "what is […]" {
		t.Errorf("at the end of a long body: %q", got)
	}
}

// Clients may write every letter that is not of ASCII as an escape, as Python's json does; upstreams quote the letter itself, or what was written.
func TestUnquotedEscapes(t *testing.T) {
	const secret, written = "我的密码是猎人二号 и ещё кое-что 😀😀😀 et c'est très privé", `\u6211\u7684\u5bc6\u7801\u662f\u730e\u4eba\u4e8c\u53f7 \u0438 \u0435\u0449\u0451 \u043a\u043e\u0435-\u0447\u0442\u043e \ud83d\ude00\ud83d\uDE00\ud83d\ude00 et c'est tr\u00e8s priv\u00e9`
	body := `{"model":"m","messages":[{"role":"user","content":"\ud83d \u12 ` + written + `"}]}`
	for _, quotation := range []string{secret, written, "猎人二号", "кое-что", "😀😀😀", "c'est très privé"} {
		if got := unquoted("flagged: «"+quotation+"»", []byte(body), ""); got != "flagged: «[…]»" && got != `flagged: «\[…]»` {
			t.Errorf("%q of %s", got, quotation)
		}
	}
}

// No run of a text that is long enough is in what is kept, wherever it stands.
func FuzzUnquoted(f *testing.F) {
	f.Add("the secret of the text", "before ", " after", 4, 16)
	f.Add("äöü\\\"\nabcdefghijklmnop", "x", "y", 0, 30)
	f.Add("aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaa", "bbbb", 0, 13)
	f.Fuzz(func(t *testing.T, text, before, after string, from, length int) {
		if len(text) == 0 || len(text) > 4096 || len(before)+len(after) > 4096 {
			t.Skip()
		}
		body, err := json.Marshal(map[string]string{"content": text})
		if err != nil {
			t.Fatal(err)
		}
		from = min(max(from, 0), len(text))
		part := text[from:min(len(text), from+max(length, 0))]
		for i := range len(part) { // letters and digits alone: these no escape cuts
			if c := part[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
				t.Skip()
			}
		}
		got := unquoted(before+"«"+part+"»"+after, body, "")
		if len(part) >= quoted && strings.Contains(got, "«"+part+"»") {
			t.Errorf("%q holds %q of %s", got, part, body)
		}
	})
}

func BenchmarkUnquoted(b *testing.B) {
	for _, kb := range []int{1, 50, 1000} {
		body := []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("some words of a prompt, ", kb<<10/24) + `"}]}`)
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				unquoted("Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.", body, "m")
			}
		})
	}
}
