package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"

	"evergate/internal/identity"
)

// readKeyBody reads the body of a request about a key.
func readKeyBody(w http.ResponseWriter, r *http.Request) ([]byte, *mistake) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxKeyBody))
	if err != nil {
		return nil, invalid("", "the body cannot be read: %s; at most %d bytes are", err, maxKeyBody)
	}
	return text, nil
}

var termFields = []string{
	"name", "owner", "team", "labels", "models", "providers", "policies", "routes", "sources", "guardrails", "limits", "budgets", "expires_at",
	"requests_per_minute", "tokens_per_minute", "concurrent", "usd", "tokens", "per", "zone", "warn", "mode",
}

// decodeTerms reads terms and nothing else.
func decodeTerms(text []byte, into *identity.Terms) *mistake {
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' {
		return invalid("", `the body must be a JSON object such as {"name": "ci", "models": ["fast"]}`)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return invalid(kind.Field, "%s must not be %s", kind.Field, kind.Value)
		}
		return misread(err, termFields)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return invalid("", "there is more than one JSON object in the body")
	}
	return nil
}

// patched are terms with a merge patch over them.
func patched(terms identity.Terms, patch map[string]any) (identity.Terms, error) {
	var whole any
	text, err := json.Marshal(terms)
	if err == nil {
		err = json.Unmarshal(text, &whole)
	}
	if name := strange(whole, patch); err == nil && name != "" {
		return terms, &identity.Mistake{Param: clip(name), Message: unknown("field", name, termFields)}
	}
	if err == nil {
		text, err = json.Marshal(merged(whole, patch))
	}
	if err != nil {
		return terms, err
	}
	var out identity.Terms
	if wrong := decodeTerms(text, &out); wrong != nil {
		return terms, &identity.Mistake{Param: wrong.param, Message: wrong.message}
	}
	return out, nil
}

// strange is a field of a patch that what it is for does not have, letter by letter: reading JSON, Go takes Models for models, and of the two that a merge
// would leave the old one would win. Labels have any names.
func strange(target, patch any) string {
	was, _ := target.(map[string]any)
	fields, _ := patch.(map[string]any)
	for name, v := range fields {
		now, known := was[name]
		if !known {
			return name
		}
		if name != "labels" {
			if inner := strange(now, v); inner != "" {
				return inner
			}
		}
	}
	return ""
}

// merged is RFC 7396.
func merged(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if was, ok := target.(map[string]any); ok {
		maps.Copy(out, was)
	}
	for name, v := range fields {
		if v == nil {
			delete(out, name)
		} else {
			out[name] = merged(out[name], v)
		}
	}
	return out
}

// takeReason takes the reason out of a patch.
func takeReason(patch map[string]any) (string, *mistake) {
	v, given := patch["reason"]
	delete(patch, "reason")
	reason, text := v.(string)
	if given && v != nil && !text {
		return "", invalid("reason", "reason must be text")
	}
	return reason, checkReason(reason)
}

func checkReason(reason string) *mistake {
	if len(reason) > maxReason {
		return invalid("reason", "reason is longer than %d bytes", maxReason)
	}
	return nil
}
