// Package guardrail judges the words of requests and answers on their way: it redacts what must not pass, or blocks the whole. It owns the
// interface that every guard has, the rules that find secrets and personal data, the way in which text is followed that comes in pieces, and
// what became of a request's guards, by name and without a word of the text.
//
// It must not know HTTP, a dialect's field names beyond those that never hold text, a provider, or the configuration's form. It writes no log and keeps no text beyond the request.
//
// A program of its own in Go adds a guard by implementing [Guard] and naming it in a [Set]; see the example.
package guardrail
