package main

import "strings"

// terms are what the flags say of a key; the gateway says what is wrong with them.
func (k *keysCmd) terms(name string) map[string]any {
	out := map[string]any{}
	for field, v := range map[string]string{"name": name, "owner": k.Owner, "team": k.Team, "expires_at": k.Expires} {
		if v != "" {
			out[field] = v
		}
	}
	for field, v := range map[string]string{
		"models": k.Models, "providers": k.Providers, "policies": k.Policies, "routes": k.Routes, "sources": k.Sources, "guardrails": k.Guardrails,
	} {
		if v != "" {
			out[field] = words(v)
		}
	}
	if k.Labels != "" {
		labels := map[string]string{}
		for _, l := range words(k.Labels) {
			label, text, _ := strings.Cut(l, "=")
			labels[strings.TrimSpace(label)] = strings.TrimSpace(text)
		}
		out["labels"] = labels
	}
	limits := map[string]any{}
	for field, v := range map[string]string{"requests_per_minute": k.Requests, "tokens_per_minute": k.Tokens, "concurrent": k.Concurrent} {
		if v != "" {
			limits[field] = number(v)
		}
	}
	if len(limits) > 0 {
		out["limits"] = limits
	}
	if k.Budget != "" {
		var budgets []map[string]any
		for one := range strings.SplitSeq(k.Budget, ";") {
			budgets = append(budgets, shapeOf(one))
		}
		out["budgets"] = budgets
	}
	return out
}

// words are what commas part.
func words(text string) (out []string) {
	for w := range strings.SplitSeq(text, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}
