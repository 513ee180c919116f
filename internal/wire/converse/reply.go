package converse

import (
	"errors"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

var errNoAnswer = errors.New("the answer is no Converse reply")

// DecodeReply reads a whole ConverseResponse.
func (Converse) DecodeReply(body []byte) (*llm.Reply, error) {
	a := &llm.Reply{Choices: []llm.Choice{{}}}
	c := &a.Choices[0]
	r := jsonscan.New(body)
	if !r.Object() {
		return nil, errNoAnswer
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "output":
			readOutput(&r, c)
		case "stopReason":
			word, _ := r.Literal()
			c.Stop, c.StopText = readStop(word, c.StopText)
		case "additionalModelResponseFields":
			if s := readStopSequence(&r); s != "" {
				c.StopText = s
			}
		case "usage":
			a.Usage = readUsage(&r)
		case "serviceTier":
			a.ServiceTier = readTypeOf(&r)
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return nil, r.Err()
	}
	if c.Stop != llm.StopSequence && c.Stop != llm.OtherStop {
		c.StopText = ""
	}
	if c.Stop == llm.Unstopped {
		return nil, errNoAnswer
	}
	return a, nil
}

// readStop keeps a stop sequence that was read before.
func readStop(word []byte, sequence string) (stop llm.Stop, text string) {
	stop, text = stopOf(word)
	if text == "" {
		text = sequence
	}
	return stop, text
}

// readStopSequence reads the stop sequence that was met from the model's additional fields.
func readStopSequence(r *jsonscan.Reader) (sequence string) {
	if !r.Object() {
		return ""
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "stop_sequence" || string(key) == "/stop_sequence" {
			sequence, _ = r.Text()
		} else {
			r.Skip()
		}
	}
	return sequence
}

// readTypeOf reads {"type":…}.
func readTypeOf(r *jsonscan.Reader) (text string) {
	if !r.Object() {
		return ""
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "type" {
			text, _ = r.Text()
		} else {
			r.Skip()
		}
	}
	return text
}

func readOutput(r *jsonscan.Reader, c *llm.Choice) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "message" {
			r.Skip()
			continue
		}
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if string(key) != "content" {
				r.Skip()
				continue
			}
			if !r.Array() {
				continue
			}
			for r.Elem() {
				readBlock(r, c)
			}
		}
	}
}

// readBlock reads one content block. One of a kind that is not known is left out.
func readBlock(r *jsonscan.Reader, c *llm.Choice) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		p := llm.Part{}
		switch string(key) {
		case "text":
			p.Kind = llm.Text
			p.Text, _ = r.Text()
		case "toolUse":
			p.Kind, p.Call = llm.ToolCall, readToolUse(r)
		case "reasoningContent":
			readReasoning(r, &p)
		case "citationsContent":
			readCited(r, &p)
		case "image":
			readImage(r, &p)
		default:
			r.Skip()
		}
		if p.Kind != 0 {
			c.Content = append(c.Content, p)
		}
	}
}

func readToolUse(r *jsonscan.Reader) *llm.Call {
	call := &llm.Call{}
	if !r.Object() {
		return call
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "toolUseId":
			call.ID, _ = r.Text()
		case "name":
			call.Name, _ = r.Text()
		case "input":
			switch r.Kind() {
			case jsonscan.Object:
				call.Arguments = string(r.Raw())
			case jsonscan.String: // arguments that broke off
				call.Arguments, _ = r.Text()
			default:
				r.Skip()
			}
		default:
			r.Skip()
		}
	}
	return call
}

func readReasoning(r *jsonscan.Reader, p *llm.Part) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "reasoningText":
			p.Kind = llm.Reasoning
			if !r.Object() {
				continue
			}
			for key, ok := r.Key(); ok; key, ok = r.Key() {
				switch string(key) {
				case "text":
					p.Text, _ = r.Text()
				case "signature":
					if s, _ := r.Text(); s != "" {
						p.Seal = &llm.Seal{Vendor: signedBy, Kind: llm.Signed, Data: s}
					}
				default:
					r.Skip()
				}
			}
		case "redactedContent":
			text, _ := r.Literal()
			if blob, ok := appendBlob(nil, text); ok {
				p.Kind = llm.Reasoning
				p.Seal = &llm.Seal{Vendor: signedBy, Kind: llm.Redacted, Data: sealOf(blob)}
			}
		default:
			r.Skip()
		}
	}
}

// readCited reads text with its sources.
func readCited(r *jsonscan.Reader, p *llm.Part) {
	if !r.Object() {
		return
	}
	p.Kind = llm.Text
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "content":
			p.Text += readTexts(r)
		case "citations":
			if !r.Array() {
				continue
			}
			for r.Elem() {
				p.Citations = append(p.Citations, readCitation(r))
			}
		default:
			r.Skip()
		}
	}
}

// readTexts joins the "text" of an array's objects.
func readTexts(r *jsonscan.Reader) (all string) {
	if !r.Array() {
		return ""
	}
	for r.Elem() {
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if string(key) != "text" {
				r.Skip()
				continue
			}
			text, _ := r.Text()
			all += text
		}
	}
	return all
}

// readCitation reads a source. Where it is in the source is not said on: citations tell where in the answer they belong,
// which Bedrock does by the block that they are in.
func readCitation(r *jsonscan.Reader) (c llm.Citation) {
	if !r.Object() {
		return c
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "title":
			c.Title, _ = r.Text()
		case "source":
			if c.URL == "" {
				c.URL, _ = r.Text()
			} else {
				r.Skip()
			}
		case "sourceContent":
			c.Quote = readTexts(r)
		case "location":
			if url := readWeb(r); url != "" {
				c.URL = url
			}
		default:
			r.Skip()
		}
	}
	return c
}

// readWeb reads the address in a citation's location, if it is a place in the web.
func readWeb(r *jsonscan.Reader) (url string) {
	if !r.Object() {
		return ""
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "web" {
			r.Skip()
			continue
		}
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if string(key) == "url" {
				url, _ = r.Text()
			} else {
				r.Skip()
			}
		}
	}
	return url
}

// readImage reads an image that the model made.
func readImage(r *jsonscan.Reader, p *llm.Part) {
	m := &llm.Media{}
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "format":
			if f, _ := r.Text(); f != "" {
				m.Type = "image/" + f
			}
		case "source":
			m.Data = readBytes(r)
		default:
			r.Skip()
		}
	}
	if m.Data != "" {
		p.Kind, p.Media = llm.Image, m
	}
}

// readBytes reads the "bytes" of a source.
func readBytes(r *jsonscan.Reader) (data string) {
	if !r.Object() {
		return ""
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "bytes" {
			data, _ = r.Text()
		} else {
			r.Skip()
		}
	}
	return data
}
