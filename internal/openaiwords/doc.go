// Package openaiwords is what OpenAI's two dialects, chat completions and Responses, say alike, by OpenAI itself and by
// the many vendors that speak them in their own way: errors and counts of tokens.
//
// It must not know an operation: what is an answer, and what becomes of an error, is for the dialects to say.
package openaiwords
