package openaichat

import (
	"strconv"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

// judgeChoices reads a plain reply. Choices decide: with a usable one an error beside it does not count, and without
// one the reply is no answer whatever else it holds.
func judgeChoices(body []byte, s shape) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, openaiwords.FaultIn); f != nil {
		return reply, f
	}
	var (
		errorRaw, failure []byte
		groq              wire.Usage
		kind              jsonscan.Kind
		choices, usable   int
	)
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "model":
			reply.Model, _ = r.Text()
		case "choices":
			kind = r.Kind()
			if !r.Array() {
				continue
			}
			for r.Elem() {
				c := readChoice(&r, s)
				if choices == 0 {
					reply.Finish = finishWord(c.finish)
				}
				choices++
				switch {
				case failed(c.finish):
					failure = c.finish
				case c.fault != nil && !c.content:
				case c.holds || len(c.finish) > 0:
					usable++
				}
				if c.fault != nil {
					errorRaw = c.fault
				}
			}
		case "usage":
			reply.Usage = openaiwords.ReadUsage(&r)
		case "x_groq":
			groq, _ = readGroq(&r)
		case "error":
			if raw := openaiwords.ErrorValue(&r); raw != nil {
				errorRaw = raw
			}
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return wire.Reply{}, wire.BrokenAnswer(r.Err())
	}
	if !reply.Usage.Known {
		reply.Usage = groq
	}
	switch {
	case usable > 0:
		return reply, nil
	case errorRaw != nil:
		return reply, openaiwords.FaultOf(errorRaw)
	case failure != nil:
		return reply, failedFinish(failure)
	case kind != jsonscan.Array:
		if f := openaiwords.FaultIn(body); f != nil {
			return reply, f
		}
		return reply, wire.NoArray("choices", kind)
	case choices == 0:
		return reply, wire.Invalid(`"choices" in the upstream's answer is empty`)
	case s == textShape:
		return reply, wire.Invalid(`"choices" in the upstream's answer hold no text`)
	default:
		return reply, wire.Invalid(`"choices" in the upstream's answer hold no message`)
	}
}

// judgeEmbeddings reads a plain reply to an embeddings request.
func judgeEmbeddings(body []byte) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, openaiwords.FaultIn); f != nil {
		return reply, f
	}
	var (
		errorRaw    []byte
		kind        jsonscan.Kind
		data, empty int
	)
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "model":
			reply.Model, _ = r.Text()
		case "data":
			kind = r.Kind()
			if !r.Array() {
				continue
			}
			for r.Elem() {
				data++
				if !readEmbedding(&r) {
					empty++
				}
			}
		case "usage":
			reply.Usage = openaiwords.ReadUsage(&r)
		case "error":
			errorRaw = openaiwords.ErrorValue(&r)
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return wire.Reply{}, wire.BrokenAnswer(r.Err())
	}
	switch {
	case data > 0 && empty == 0:
		return reply, nil
	case errorRaw != nil:
		return reply, openaiwords.FaultOf(errorRaw)
	case kind != jsonscan.Array:
		if f := openaiwords.FaultIn(body); f != nil {
			return reply, f
		}
		return reply, wire.NoArray("data", kind)
	case data == 0:
		return reply, wire.Invalid(`"data" in the upstream's answer is empty`)
	default:
		return reply, wire.Invalid(`"data" in the upstream's answer lacks an embedding`)
	}
}

// readEmbedding says whether an element of data has an embedding: numbers, or base64 text.
func readEmbedding(r *jsonscan.Reader) (found bool) {
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "embedding" {
			r.Skip()
			continue
		}
		raw := r.Raw()
		found = len(raw) > 2 && (raw[0] == '[' || raw[0] == '"')
	}
	return found
}

func failedFinish(finish []byte) *fault.Fault {
	return &fault.Fault{
		Class: fault.Invalid, Code: string(finish),
		Message: "the upstream broke the answer off with finish_reason " + strconv.Quote(string(finish)),
	}
}
