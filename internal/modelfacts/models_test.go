package modelfacts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// entries reads the file as it stands.
func entries(t *testing.T) document {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(models)))
	d.DisallowUnknownFields()
	var doc document
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func (r *record) name() string { return strings.TrimSpace(r.Host + " " + r.ID) }

// embeds: it gives vectors; no request for an answer goes to it.
func (r *record) embeds() bool { return slices.Equal(r.Output, []string{"vector"}) }

// The file is in order, and each model stands in it once, under whatever name it is looked up by.
func TestEachModelStandsOnce(t *testing.T) {
	doc := entries(t)
	if n := len(doc.Models); n < 300 {
		t.Errorf("only %d models", n)
	}
	names := map[key]bool{}
	for i := range doc.Models {
		r := &doc.Models[i]
		if i > 0 {
			if b := &doc.Models[i-1]; cmp.Or(cmp.Compare(b.Host, r.Host), cmp.Compare(b.ID, r.ID)) >= 0 {
				t.Errorf("%s stands after %s: sort by host and id, each once", r.name(), b.name())
			}
		}
		if r.ID == "" || strings.ContainsAny(r.ID, " \"") {
			t.Errorf("%q is no id", r.ID)
		}
		if r.Host != "" && placeOf(r.Host).host != r.Host {
			t.Errorf("%s: entries of that host are never looked at", r.name())
		}
		for _, id := range slices.Compact([]string{r.ID, dotted(r.ID)}) {
			if names[key{r.Host, id}] {
				t.Errorf("%s is found by %s, and so is another", r.name(), id)
			}
			names[key{r.Host, id}] = true
		}
	}
}

// Every entry says when and with what it was compared.
func TestSources(t *testing.T) {
	doc := entries(t)
	day := func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }
	used := map[string]bool{}
	for i := range doc.Models {
		r := &doc.Models[i]
		if !day(r.AsOf) || r.Deprecated != "" && !day(r.Deprecated) {
			t.Errorf("%s: as of %q, deprecated %q", r.name(), r.AsOf, r.Deprecated)
		}
		if len(r.Sources) == 0 {
			t.Errorf("%s has no source", r.name())
		}
		here := map[string]bool{}
		for _, s := range r.Sources {
			if doc.Sources[s] == "" || here[s] {
				t.Errorf("%s: source %q", r.name(), s)
			}
			here[s], used[s] = true, true
		}
	}
	for s := range doc.Sources {
		if !used[s] {
			t.Errorf("source %s is nowhere used", s)
		}
	}
}

// A wrong no leaves a healthy target out, a missing one costs a refusal: what one source alone says a model lacks is not in the file.
func TestANoHasTwoSources(t *testing.T) {
	for _, r := range entries(t).Models {
		if len(r.Sources) > 1 || r.embeds() {
			continue
		}
		no := func(what string, v *bool) {
			if v != nil && !*v {
				t.Errorf("%s: %s says alone that there is no %s", r.name(), r.Sources[0], what)
			}
		}
		no("tools", r.Tools)
		no("structured_output", r.StructuredOutput)
		no("reasoning", r.Reasoning)
		no("prefill", r.Prefill)
		if r.ContextWindow != nil || r.OutputLimit != nil || r.Input != nil || r.Output != nil {
			t.Errorf("%s: %s says alone what its window and kinds of content are", r.name(), r.Sources[0])
		}
	}
}

func TestKindsAndLimits(t *testing.T) {
	for _, r := range entries(t).Models {
		for _, word := range slices.Concat(r.Input, r.Output) {
			if _, ok := Modality(word); !ok {
				t.Errorf("%s: %q is no kind of content", r.name(), word)
			}
		}
		if r.Input != nil && !slices.Contains(r.Input, "text") || r.Output != nil && !r.embeds() && !slices.Contains(r.Output, "text") {
			t.Errorf("%s takes %v and gives %v", r.name(), r.Input, r.Output)
		}
		for what, v := range map[string]*int64{"context_window": r.ContextWindow, "output_limit": r.OutputLimit} {
			if v != nil && (*v < 256 || *v > 20_000_000) {
				t.Errorf("%s: %s %d", r.name(), what, *v)
			}
		}
		if r.ContextWindow != nil && r.OutputLimit != nil && *r.OutputLimit > *r.ContextWindow {
			t.Errorf("%s answers with %d tokens out of a window of %d", r.name(), *r.OutputLimit, *r.ContextWindow)
		}
		if r.embeds() && (r.OutputLimit != nil || r.Tools != nil || r.OutputPrice != nil) {
			t.Errorf("%s gives vectors, and has facts of answers", r.name())
		}
	}
}

func TestPrices(t *testing.T) {
	for _, r := range entries(t).Models {
		prices := map[string]*float64{
			"input": r.InputPrice, "output": r.OutputPrice, "cache_read": r.CacheReadPrice, "cache_write": r.CacheWritePrice,
			"batch_input": r.BatchInputPrice, "batch_output": r.BatchOutputPrice,
		}
		for what, v := range prices {
			if v != nil && (*v <= 0 || *v > 1000) {
				t.Errorf("%s: %s price %v is not one of a million tokens", r.name(), what, *v)
			}
		}
		// within: price a is from low to high times price b.
		within := func(a, b string, low, high float64) {
			if a, b := prices[a], prices[b]; a != nil && b != nil && (*a < low**b || *a > high**b) {
				t.Errorf("%s: %v beside %v", r.name(), *a, *b)
			}
		}
		within("output", "input", 1, 10)
		within("cache_read", "input", 0.01, 0.5)
		within("cache_write", "input", 1, 2)
		within("batch_input", "input", 0.45, 0.8)
		within("batch_output", "output", 0.45, 0.8)
		with := func(a, b string) {
			if (prices[a] != nil) != (prices[b] != nil) && !r.embeds() {
				t.Errorf("%s has one of %s and %s", r.name(), a, b)
			}
		}
		with("input", "output")
		with("batch_input", "batch_output")
		for _, what := range []string{"cache_read", "cache_write", "batch_input"} {
			if prices[what] != nil && prices["input"] == nil {
				t.Errorf("%s has a %s price alone", r.name(), what)
			}
		}
	}
}
