// Package modelfacts owns what is known of models by their ids: how long a prompt may be, what they take and give, what
// they can do, what they cost. The facts are data in one file, models.json, each entry with its date and its source, and
// what a user says of a model stands before them. What is not known is absent, and means neither yes nor no.
//
// It is pure: tables in, pointers to frozen facts out. It must not know how a request asks for something, which provider
// has which model, or what routing makes of a price.
package modelfacts

import "strings"

// Facts are what is known of one model. They are never changed once made, and may be shared.
type Facts struct {
	// ID is the model's id in the catalogue; empty where only a user said something of it.
	ID string
	// ContextWindow is how many tokens a prompt may have, OutputLimit how many an answer; 0: unknown.
	ContextWindow, OutputLimit int64
	// Input and Output are the kinds of content it takes and gives; 0: unknown.
	Input, Output Modalities

	Tools, StructuredOutput, Reasoning Answer
	// Prefill: a request may end in the beginning of the answer (R70).
	Prefill Answer

	Prices Prices
	// Deprecated is the day on which its maker takes it out of service, as YYYY-MM-DD; empty: unknown, or none.
	Deprecated string
	// AsOf is the day on which the entry was last compared with its Sources, as YYYY-MM-DD. They are keys of the file's
	// list of sources, with a comma between them.
	AsOf, Sources string
}

// Answer is what is known of a yes or no.
type Answer uint8

// The answers. Unknown counts as able (R46).
const (
	Unknown Answer = iota
	Yes
	No
)

// Modalities are kinds of content, as bits.
type Modalities uint8

// The kinds of content.
const (
	Text Modalities = 1 << iota
	Image
	File
	Audio
	Video
	Vector
)

// modalities are the words of the kinds, in the order of the bits.
func modalities() []string { return []string{"text", "image", "file", "audio", "video", "vector"} }

// String lists the kinds: "text, image".
func (m Modalities) String() string {
	var out []string
	for i, word := range modalities() {
		if m&(1<<i) != 0 {
			out = append(out, word)
		}
	}
	return strings.Join(out, ", ")
}

// Modality is the kind that a word stands for; false: none.
func Modality(word string) (Modalities, bool) {
	for i, w := range modalities() {
		if w == word {
			return 1 << i, true
		}
	}
	return 0, false
}

// ModalityWords are the words that Modality knows.
func ModalityWords() []string { return modalities() }

// Price is US dollars for a million tokens, where it is known. 0 that is known is free of charge.
type Price struct {
	USD   float64
	Known bool
}

// Prices are a model's, at the provider in question. Those of long prompts, of priority and of tools are not told apart.
type Prices struct {
	Input, Output Price
	// CacheRead is for prompt tokens that the provider had in its cache, CacheWrite for those that it put there.
	CacheRead, CacheWrite Price
	// BatchInput and BatchOutput are for requests that may take a day.
	BatchInput, BatchOutput Price
}

// Override is what is said of a model, by an entry of the catalogue or by a user. Nil is unsaid.
type Override struct {
	ContextWindow    *int64   `json:"context_window,omitempty"`
	OutputLimit      *int64   `json:"output_limit,omitempty"`
	Input            []string `json:"input,omitempty"`
	Output           []string `json:"output,omitempty"`
	Tools            *bool    `json:"tools,omitempty"`
	StructuredOutput *bool    `json:"structured_output,omitempty"`
	Reasoning        *bool    `json:"reasoning,omitempty"`
	Prefill          *bool    `json:"prefill,omitempty"`
	InputPrice       *float64 `json:"input_price,omitempty"`
	OutputPrice      *float64 `json:"output_price,omitempty"`
	CacheReadPrice   *float64 `json:"cache_read_price,omitempty"`
	CacheWritePrice  *float64 `json:"cache_write_price,omitempty"`
	BatchInputPrice  *float64 `json:"batch_input_price,omitempty"`
	BatchOutputPrice *float64 `json:"batch_output_price,omitempty"`
	Deprecated       string   `json:"deprecated,omitempty"`
}

// over lays what o says over f.
func (o *Override) over(f Facts) Facts {
	number := func(into *int64, v *int64) {
		if v != nil {
			*into = *v
		}
	}
	number(&f.ContextWindow, o.ContextWindow)
	number(&f.OutputLimit, o.OutputLimit)
	kinds := func(into *Modalities, words []string) {
		if len(words) > 0 {
			*into = 0
		}
		for _, w := range words {
			m, _ := Modality(w)
			*into |= m
		}
	}
	kinds(&f.Input, o.Input)
	kinds(&f.Output, o.Output)
	answer := func(into *Answer, v *bool) {
		switch {
		case v == nil:
		case *v:
			*into = Yes
		default:
			*into = No
		}
	}
	answer(&f.Tools, o.Tools)
	answer(&f.StructuredOutput, o.StructuredOutput)
	answer(&f.Reasoning, o.Reasoning)
	answer(&f.Prefill, o.Prefill)
	price := func(into *Price, v *float64) {
		if v != nil {
			*into = Price{USD: *v, Known: true}
		}
	}
	p := &f.Prices
	price(&p.Input, o.InputPrice)
	price(&p.Output, o.OutputPrice)
	price(&p.CacheRead, o.CacheReadPrice)
	price(&p.CacheWrite, o.CacheWritePrice)
	price(&p.BatchInput, o.BatchInputPrice)
	price(&p.BatchOutput, o.BatchOutputPrice)
	if o.Deprecated != "" {
		f.Deprecated = o.Deprecated
	}
	return f
}
