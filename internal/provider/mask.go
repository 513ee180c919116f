package provider

import (
	"bytes"
	"slices"
	"strings"
)

// masked stands for what was taken out.
const masked = "***"

// gram is the length in bytes of the shortest part of a configured credential that is masked: providers like to quote
// the first or the last few characters of a refused key.
const gram = 8

// masker takes credentials out of upstream text: the provider's own, whole or in parts, and whatever looks like one.
// It is read only after it was made, so safe for concurrent use.
type masker struct {
	secrets []string            // whole values, longest first
	part    int                 // the length in bytes of the shortest part that is masked
	grams   map[string]struct{} // every part of that length of the longer ones
	given   []*[]Secret         // what each credential's token endpoint had given by then
}

func newMasker(secrets []Secret) *masker { return newMaskerOf(secrets, gram) }

// newMaskerOf makes a masker of secrets and their parts from a length in bytes on.
func newMaskerOf(secrets []Secret, part int) *masker {
	m := &masker{part: part, grams: map[string]struct{}{}}
	for _, secret := range secrets {
		s := secret.Reveal()
		if s == "" || slices.Contains(m.secrets, s) {
			continue
		}
		m.secrets = append(m.secrets, s)
		for i := 0; i+part <= len(s); i++ {
			m.grams[s[i:i+part]] = struct{}{}
		}
	}
	slices.SortFunc(m.secrets, func(a, b string) int { return len(b) - len(a) })
	return m
}

// text is s without credentials.
func (m *masker) text(s string) string {
	if s == "" {
		return ""
	}
	return string(m.bytes([]byte(s)))
}

// bytes is a copy of b without credentials. JSON stays JSON: what is taken out lies within a string.
func (m *masker) bytes(b []byte) []byte {
	out := splice(b, append(m.own(b), lookalikes(b)...))
	for _, s := range m.secrets {
		// Short ones may be common words ("test"), and a single letter would blank everything: as a word only.
		out = replace(out, s, len(s) < gram)
	}
	for _, s := range m.secrets {
		if len(s) >= gram && bytes.Contains(out, []byte(s)) {
			return []byte(masked) // the masking itself has spelled it: a secret made of asterisks
		}
	}
	return out
}

// header leaves out every header whose value holds one of the provider's own credentials, or the token that the request
// was sent with, as those of a proxy that echoes what it was sent for debugging: reply headers go to callers
// (CONTRACT §5). Short ones may be common words.
func (m *masker) header(h map[string][]string, token string) {
	for name, values := range h {
		for _, v := range values {
			holds := func(s string) bool { return len(s) >= gram && strings.Contains(v, s) }
			if holds(token) || slices.ContainsFunc(m.secrets, holds) {
				delete(h, name)
				break
			}
		}
	}
}

// span is a half-open range of bytes.
type span struct{ from, to int }

// own finds every run of b that is a part of a configured credential, at least part bytes long.
func (m *masker) own(b []byte) []span {
	var spans []span
	for i := 0; i+m.part <= len(b) && len(m.grams) > 0; i++ {
		if _, ok := m.grams[string(b[i:i+m.part])]; !ok {
			continue
		}
		if n := len(spans); n > 0 && spans[n-1].to >= i {
			spans[n-1].to = i + m.part
		} else {
			spans = append(spans, span{i, i + m.part})
		}
	}
	return spans
}

// keyPrefixes begin the keys of well-known providers.
var keyPrefixes = []string{
	"sk-", "sk_", "pk-", "rk-", "gsk_", "xai-", "AIza", "pplx-", "hf_", "r8_", "fw_", "csk-", "tgp_v1_", "nvapi-",
	"AKIA", "ASIA", "IQoJ", "ABSK", "ya29", "eyJ", "ghp_", "gho_", "github_pat_", "dop_v1_", "glpat-",
}

// keyWords announce a credential: a long random run after one of them is taken for one.
var keyWords = []string{"key", "token", "secret", "bearer", "authorization", "password", "credential"}

const (
	afterPrefix = 4  // characters after a prefix that make it a key, asterisks included
	randomRun   = 20 // characters of a random run
	wordReach   = 32 // bytes between a key word and the run that it announces
	ownKey      = 40 // characters of a run that begins as this gateway's own keys do, which makes it one: they have more
)

// lookalikes finds what looks like a credential.
func lookalikes(b []byte) []span {
	var spans []span
	for i := 0; i < len(b); {
		if !tokenByte(b[i]) {
			i++
			continue
		}
		end := i
		for end < len(b) && (tokenByte(b[end]) || b[end] == '.' && dotted(b[i:end]) && end+1 < len(b) && tokenByte(b[end+1])) {
			end++
		}
		if credential(b, i, end) {
			spans = append(spans, span{i, end})
		}
		i = end
	}
	return spans
}

// dotted says whether a run begins a token that has dots in it: Google's access tokens, and JSON web tokens.
func dotted(run []byte) bool {
	return bytes.HasPrefix(run, []byte("ya29")) || bytes.HasPrefix(run, []byte("eyJ"))
}

// credential says whether the run b[from:to] looks like one, by itself or by the words before it.
func credential(b []byte, from, to int) bool {
	run := b[from:to]
	for _, p := range keyPrefixes {
		if len(run) >= len(p)+afterPrefix && string(run[:len(p)]) == p {
			// "sk-learn-examples" is a word, not a key: a key has a digit, an upper-case letter, or was masked.
			return len(run) >= randomRun || bytes.ContainsAny(run[len(p):], "0123456789*") || p[0] != 's'
		}
	}
	if len(run) >= ownKey && bytes.HasPrefix(run, []byte("eg_")) {
		return true
	}
	before := bytes.ToLower(b[max(0, from-wordReach):from])
	if bytes.HasSuffix(before, []byte("bearer ")) {
		return len(run) >= gram
	}
	if !random(run) && !(len(run) >= 6 && bytes.Contains(run, []byte("**"))) {
		return false
	}
	if bytes.HasPrefix(b[to:], []byte(`":`)) && worded(run) { // the name of a field, such as ephemeral_5m_input_tokens
		return false
	}
	for _, w := range keyWords {
		if bytes.Contains(before, []byte(w)) {
			return true
		}
	}
	return false
}

// worded says whether a run is words with underscores between them, as names of fields are and keys are not.
func worded(run []byte) bool {
	longest := 0
	for word := range bytes.SplitSeq(run, []byte("_")) {
		longest = max(longest, len(word))
	}
	return longest < 16
}

// random says whether a run is long and mixes letters and digits, as hexadecimal and base64 do and words do not.
func random(run []byte) bool {
	if len(run) < randomRun {
		return false
	}
	letters, digits := 0, 0
	for _, c := range run {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			letters++
		}
	}
	return letters > 0 && digits > 0 || digits >= randomRun
}

func tokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '-' || c == '_' || c == '+' || c == '/' || c == '*'
}

// splice copies b with the spans, in any order and overlapping or not, masked.
func splice(b []byte, spans []span) []byte {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	out := make([]byte, 0, len(b))
	at := 0
	for _, s := range spans {
		if s.to <= at {
			continue
		}
		if s.from >= at {
			out = append(out, b[at:s.from]...)
			out = append(out, masked...)
		}
		at = s.to
	}
	return append(out, b[at:]...)
}

// replace masks every occurrence of s in b; as a word only if it has no letter or digit right before and after it.
func replace(b []byte, s string, word bool) []byte {
	var spans []span
	for i := 0; i+len(s) <= len(b); {
		j := bytes.Index(b[i:], []byte(s))
		if j < 0 {
			break
		}
		from, to := i+j, i+j+len(s)
		if !word || (from == 0 || !wordByte(b[from-1])) && (to == len(b) || !wordByte(b[to])) {
			spans = append(spans, span{from, to})
			i = to
		} else {
			i = from + 1
		}
	}
	if spans == nil {
		return b
	}
	return splice(b, spans)
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// cause wraps an error whose text may quote what the upstream sent, so that logging it shows no credential.
func (m *masker) cause(err error) error {
	text := err.Error()
	if safe := m.text(text); safe != text {
		return &maskedError{text: safe, err: err}
	}
	return err
}

// maskedError says its own words and keeps the chain for errors.Is and errors.As.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

// clip cuts a text to at most n bytes, at a rune's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
