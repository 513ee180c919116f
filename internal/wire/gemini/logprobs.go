package gemini

import (
	"strconv"

	"evergate/internal/jsonscan"
)

// appendChatProbs appends a logprobsResult as the array that chat completions have; nothing if it holds no tokens.
func appendChatProbs(dst, raw []byte) []byte {
	var chosen, top [][]byte
	for _, m := range members(raw) {
		switch m.key {
		case "chosenCandidates":
			chosen = elements(m.raw)
		case "topCandidates":
			top = elements(m.raw)
		}
	}
	if len(chosen) == 0 {
		return dst
	}
	out := list{dst: append(dst, '[')}
	for i, c := range chosen {
		out.next()
		one := list{dst: append(out.dst, '{')}
		appendChatProb(&one, c)
		one.open("top_logprobs", '[')
		if i < len(top) {
			for _, m := range members(top[i]) {
				if m.key != "candidates" {
					continue
				}
				for _, t := range elements(m.raw) {
					one.next()
					alt := list{dst: append(one.dst, '{')}
					appendChatProb(&alt, t)
					one.dst = append(alt.dst, '}')
				}
			}
		}
		one.close(']')
		out.dst = append(one.dst, '}')
	}
	return append(out.dst, ']')
}

func appendChatProb(out *list, raw []byte) {
	token, prob := "", []byte("0")
	for _, m := range members(raw) {
		switch m.key {
		case "token":
			token = textOf(m.raw)
		case "logProbability":
			prob = m.raw
		}
	}
	out.text("token", token)
	out.raw("logprob", prob)
	out.open("bytes", '[')
	for _, b := range []byte(token) {
		out.next()
		out.dst = strconv.AppendInt(out.dst, int64(b), 10)
	}
	out.close(']')
}

// appendProbs appends chat completions' array of log probabilities as a logprobsResult.
func appendProbs(dst, raw []byte) []byte {
	tokens := elements(raw)
	out := list{dst: append(dst, '{')}
	out.open("chosenCandidates", '[')
	for _, t := range tokens {
		out.next()
		out.dst = appendProb(out.dst, t)
	}
	out.close(']')
	out.open("topCandidates", '[')
	for _, t := range tokens {
		out.next()
		one := list{dst: append(out.dst, '{')}
		one.open("candidates", '[')
		for _, m := range members(t) {
			if m.key != "top_logprobs" {
				continue
			}
			for _, alt := range elements(m.raw) {
				one.next()
				one.dst = appendProb(one.dst, alt)
			}
		}
		one.close(']')
		out.dst = append(one.dst, '}')
	}
	out.close(']')
	return append(out.dst, '}')
}

func appendProb(dst, raw []byte) []byte {
	out := list{dst: append(dst, '{')}
	for _, m := range members(raw) {
		switch {
		case m.key == "token" && m.raw[0] == '"':
			out.raw("token", m.raw)
		case m.key == "logprob" && jsonNumber(m.raw):
			out.raw("logProbability", m.raw)
		}
	}
	return append(out.dst, '}')
}

func jsonNumber(raw []byte) bool {
	r := jsonscan.New(raw)
	return r.Kind() == jsonscan.Number
}
