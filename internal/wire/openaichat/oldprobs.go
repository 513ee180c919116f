package openaichat

import (
	"strconv"
	"unicode/utf8"

	"evergate/internal/jsonscan"
)

// appendOldProbs appends log probabilities in the form of older completions, given chat's list of tokens; null for
// none. offset is where the first token stands in the text, in code points; it comes back moved past the last.
func appendOldProbs(dst, list []byte, offset int) ([]byte, int) {
	r := jsonscan.New(list)
	if len(list) == 0 || !r.Array() {
		return append(dst, "null"...), offset
	}
	var tokens, probs, tops, offsets []byte
	for r.Elem() {
		if len(tokens) > 0 {
			tokens, probs, tops, offsets = append(tokens, ','), append(probs, ','), append(tops, ','), append(offsets, ',')
		}
		t := readTokenProb(&r)
		tokens = jsonscan.AppendString(tokens, t.token)
		probs = append(probs, t.prob...)
		tops = append(append(append(tops, '{'), t.top...), '}')
		offsets = strconv.AppendInt(offsets, int64(offset), 10)
		offset += utf8.RuneCountInString(t.token)
	}
	if len(tokens) == 0 {
		return append(dst, "null"...), offset
	}
	dst = append(append(dst, `{"tokens":[`...), tokens...)
	dst = append(append(dst, `],"token_logprobs":[`...), probs...)
	dst = append(append(dst, `],"top_logprobs":[`...), tops...)
	dst = append(append(dst, `],"text_offset":[`...), offsets...)
	return append(dst, "]}"...), offset
}

type tokenProb struct {
	token string
	prob  []byte // raw
	top   []byte // members of an object from token to log probability
}

func readTokenProb(r *jsonscan.Reader) tokenProb {
	t := tokenProb{prob: []byte("null")}
	if !r.Object() {
		return t
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "token":
			t.token, _ = r.Text()
		case "logprob":
			if r.Kind() == jsonscan.Number {
				t.prob = r.Raw()
				continue
			}
			r.Skip()
		case "top_logprobs":
			if !r.Array() {
				continue
			}
			for r.Elem() {
				one := readTokenProb(r)
				if len(t.top) > 0 {
					t.top = append(t.top, ',')
				}
				t.top = append(jsonscan.AppendString(t.top, one.token), ':')
				t.top = append(t.top, one.prob...)
			}
		default:
			r.Skip()
		}
	}
	return t
}
