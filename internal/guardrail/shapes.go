package guardrail

import "slices"

// shape is a kind of text that rules are ready for.
type shape struct {
	kind, mask, expression string
	needs                  []string
	valid                  func([]byte) bool
}

// shapes are they. Expressions are kept to few states at a time: a stream follows each of them over every character.
//
//nolint:gochecknoglobals // a constant in all but type
var shapes = []shape{
	{kind: "email", mask: "[EMAIL]", expression: `[A-Za-z0-9._%+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+`, needs: []string{"@"}},
	{kind: "phone", mask: "[PHONE]", expression: `\+[1-9](?:[ .()\-]{0,2}[0-9]){6,14}\b`, needs: []string{"+"}},
	{kind: "phone", mask: "[PHONE]", expression: `(?:\([0-9]{3}\) ?|\b[0-9]{3}[ .\-])[0-9]{3}[ .\-][0-9]{4}\b`},
	{kind: "card", mask: "[CARD]", expression: `\b[0-9](?:[ \-]?[0-9]){12,18}\b`, valid: luhn},
	{kind: "iban", mask: "[IBAN]", expression: `\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b`, valid: iban},
	{kind: "ssn", mask: "[SSN]", expression: `\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b`},
	{kind: "ip", mask: "[IP]", expression: `\b(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\b`, needs: []string{"."}},

	{kind: "secret", expression: `\bsk-[A-Za-z0-9_\-]{16,}`, needs: []string{"sk-"}},                                                            // OpenAI, Anthropic and those like them
	{kind: "secret", expression: `\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`, needs: []string{"A3T", "AKIA", "ASIA", "ABIA", "ACCA"}}, // AWS
	{kind: "secret", expression: `\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})`, needs: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}},
	{kind: "secret", expression: `\bAIza[A-Za-z0-9_\-]{30,}`, needs: []string{"AIza"}}, // Google
	{kind: "secret", expression: `\bxox[abeoprs]-[A-Za-z0-9\-]{10,}`, needs: []string{"xox"}},
	{kind: "secret", expression: `\bhooks\.slack\.com/services/[A-Za-z0-9/]{20,}`, needs: []string{"hooks.slack.com"}},
	{kind: "secret", expression: `\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`, needs: []string{"k_live_", "k_test_"}}, // Stripe
	{kind: "secret", expression: `\beyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]*)?`, needs: []string{".eyJ"}},
	{kind: "secret", expression: `-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=:,\s\-]*`, needs: []string{"PRIVATE KEY"}},
	{kind: "secret", expression: `\b(?:glpat-|gsk_|hf_|npm_|xai-|pplx-|dop_v1_|tvly-|pypi-)[A-Za-z0-9_\-]{20,}`, needs: []string{"glpat-", "gsk_", "hf_", "npm_", "xai-", "pplx-", "dop_v1_", "tvly-", "pypi-"}},
	{kind: "secret", expression: `\beg_[A-Za-z0-9]{10}_[A-Za-z0-9]{20,}`, needs: []string{"eg_"}}, // this gateway's own
	{kind: "secret", expression: `\b[Bb]earer [A-Za-z0-9._~+/\-]{16,}=*`, needs: []string{"earer "}},
	{kind: "secret", expression: `://[^\s/:@"'<>]{0,64}:[^\s/:@"'<>]{3,128}@`, needs: []string{"://"}}, // a password in a URL
}

// Kinds are the names of what rules are ready for, in order.
func Kinds() []string {
	var out []string
	for i := range shapes {
		if !slices.Contains(out, shapes[i].kind) {
			out = append(out, shapes[i].kind)
		}
	}
	return out
}

// RulesOf are the rules for a kind. mask, if not empty, stands in place of the kind's own.
func RulesOf(kind, mask string) []*Rule {
	var out []*Rule
	for i := range shapes {
		s := &shapes[i]
		if s.kind != kind {
			continue
		}
		own := mask
		if own == "" {
			own = s.mask
		}
		if own == "" {
			own = "[SECRET]"
		}
		r, err := NewRule(kind, own, s.expression, 0)
		if err != nil {
			panic("BUG: " + s.expression + ": " + err.Error()) //nolint:forbidigo // a constant that is wrong
		}
		for _, word := range s.needs {
			r.needs = append(r.needs, []byte(word))
		}
		r.valid = s.valid
		out = append(out, r)
	}
	return out
}

// luhn says whether the digits are a card's number by their sum.
func luhn(seen []byte) bool {
	const least = 13
	sum, count, twice := 0, 0, false
	for _, c := range slices.Backward(seen) {
		if c < '0' || c > '9' {
			continue
		}
		d := int(c - '0')
		if twice {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		count++
		twice = !twice
	}
	return sum%10 == 0 && count >= least
}

// iban says whether an account's number has the right rest by 97.
func iban(seen []byte) bool {
	rest := 0
	turned := append(append([]byte{}, seen[4:]...), seen[:4]...)
	for _, c := range turned {
		switch {
		case c >= '0' && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest == 1
}
