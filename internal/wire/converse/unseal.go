package converse

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// AppendUnsealed appends a request's body without the thoughts in its history that are signed or redacted (R10). A
// turn that held nothing else keeps a word, so that turns still alternate.
func (Converse) AppendUnsealed(dst, body []byte) (repaired []byte, dropped []string) {
	u := unsealing{out: dst, body: body}
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "messages" {
			r.Skip()
			continue
		}
		if !r.Array() {
			continue
		}
		for r.Elem() {
			u.message(&r)
		}
	}
	if !r.End() || !u.found {
		return dst, nil
	}
	return append(u.out, body[u.done:]...), []string{llm.DropSignatures}
}

// unsealing copies body to out but for what is left out.
type unsealing struct {
	out, body []byte
	done      int
	found     bool
}

func (u *unsealing) message(r *jsonscan.Reader) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "content" || r.Kind() != jsonscan.Array {
			r.Skip()
			continue
		}
		r.Kind() // stands on the bracket
		from := r.Offset()
		u.content(r, from)
	}
}

// content rewrites one turn's blocks if there are thoughts among them.
func (u *unsealing) content(r *jsonscan.Reader, from int) {
	var kept [][]byte
	found := false
	r.Array()
	for r.Elem() {
		raw := r.Raw()
		in := jsonscan.New(raw)
		in.Object()
		if key, _ := in.Key(); string(key) == "reasoningContent" {
			found = true
			continue
		}
		kept = append(kept, raw)
	}
	if !found || !r.OK() {
		return
	}
	u.found = true
	u.out = append(append(u.out, u.body[u.done:from]...), '[')
	if len(kept) == 0 {
		u.out = append(u.out, `{"text":"`+fillTurn+`"}`...)
	}
	for _, raw := range kept {
		u.out = append(jsonscan.AppendComma(u.out), raw...)
	}
	u.out = append(u.out, ']')
	u.done = r.Offset()
}
