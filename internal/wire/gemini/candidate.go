package gemini

import (
	"math/bits"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// candidate is what was seen in one element of "candidates".
type candidate struct {
	index   int64
	holds   bool // there are parts, empty or not
	content bool // RESILIENCE §1, the finish aside
	tool    bool
	partial bool // the last function call goes on in the next event
	finish  []byte
}

func readCandidate(r *jsonscan.Reader) (c candidate) {
	if !r.Object() {
		return c
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "index":
			c.index, _ = r.Int()
		case "finishReason":
			c.finish, _ = r.Literal()
			if string(c.finish) == "FINISH_REASON_UNSPECIFIED" {
				c.finish = nil
			}
		case "content":
			c.readContent(r)
		default:
			r.Skip()
		}
	}
	return c
}

func (c *candidate) readContent(r *jsonscan.Reader) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "parts" || !r.Array() {
			if string(key) != "parts" {
				r.Skip()
			}
			continue
		}
		for r.Elem() {
			c.readPart(r)
		}
	}
}

// readPart looks whether a part says something: a signature alone does not.
func (c *candidate) readPart(r *jsonscan.Reader) {
	if !r.Object() {
		return
	}
	c.holds = true
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "text":
			text, _ := r.RawString()
			c.content = c.content || len(text) > 0
		case "functionCall":
			c.tool, c.content = true, true
			c.partial = readWillContinue(r)
		case "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse", "functionResponse":
			r.Skip()
			c.content = true
		default: // thought, thoughtSignature, …
			r.Skip()
		}
	}
}

// readWillContinue says whether a call's arguments come in pieces, of which this is not the last (Vertex, if asked).
func readWillContinue(r *jsonscan.Reader) (more bool) {
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "willContinue" {
			r.Skip()
			continue
		}
		more, _ = r.Bool()
	}
	return more
}

// bit is a candidate's place in a Progress; those beyond the 64th share the last one.
func (c *candidate) bit() uint64 { return 1 << min(max(c.index, 0), 63) }

// settle brings SawFinish in line with the rest of p.
func settle(p *wire.Progress) {
	p.SawFinish = p.Begun != 0 && p.Begun == p.Ended && bits.OnesCount64(p.Ended) >= p.Choices
}

// finishWord is a finish reason as a string; for the usual ones that costs no allocation.
func finishWord(finish []byte) string {
	switch string(finish) {
	case "STOP":
		return "STOP"
	case "MAX_TOKENS":
		return "MAX_TOKENS"
	case "SAFETY":
		return "SAFETY"
	}
	return string(finish)
}

// feedback is what promptFeedback says.
type feedback struct{ reason, message string }

func readFeedback(r *jsonscan.Reader) (f feedback) {
	if !r.Object() {
		return f
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "blockReason":
			f.reason, _ = r.Text()
			if f.reason == "BLOCK_REASON_UNSPECIFIED" {
				f.reason = ""
			}
		case "blockReasonMessage":
			f.message, _ = r.Text()
		default:
			r.Skip()
		}
	}
	return f
}
