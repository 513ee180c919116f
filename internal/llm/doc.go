// Package llm is the canonical vocabulary of a generation: request, reply and stream events that no vendor owns. Every
// dialect decodes to it and encodes from it (wire/<dialect>), so that N dialects need N codecs and never N × N.
//
// It owns words and the pure operations on them (folding events into a reply and back, the names of what is lost). It
// must not know a dialect's field names, a provider, HTTP or the clock. Values are made by one decoder and read by one
// encoder of the same request: nothing here is safe for concurrent change.
package llm
