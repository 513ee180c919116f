package openaichat

import (
	"bytes"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// thoughts says what was thought. A vendor that lists thoughts says their text beside the list as well; where the list
// holds nothing but seals, they are of that text.
func (d *decoder) thoughts(c *decodedChoice, m *rawDelta) {
	if len(m.details) == 0 || m.details[0] != '[' {
		d.texts(c, keyThought, m.plain)
		return
	}
	listed := false
	r := jsonscan.Again(m.details)
	r.Array()
	for r.Elem() {
		t := readThought(&r)
		listed = listed || len(t.text) > 0
	}
	if !listed {
		d.texts(c, keyThought, m.plain)
	}
	r = jsonscan.Again(m.details)
	r.Array()
	for r.Elem() {
		t := readThought(&r)
		d.listedThought(c, &t)
	}
}

// listedPart is a thought of a list that has begun.
type listedPart struct {
	index           int64
	summary, sealed bool
}

// listedThought says an element of a list, or a piece of one.
func (d *decoder) listedThought(c *decodedChoice, t *thought) {
	seal := t.seal()
	if len(t.text) == 0 && seal == nil {
		return
	}
	if len(t.text) == 0 && seal.Kind == llm.Signed && c.begun&(1<<keyThought) != 0 && !c.thoughtSealed {
		c.thoughtSealed = true // the text came plain
		d.sealing(c, keyThought, seal)
		return
	}
	at := c.listedAt(t, seal)
	if at < 0 {
		at = len(c.listed)
		c.listed = append(c.listed, listedPart{index: t.index, summary: t.summary})
		d.head(c, keyThoughts+at&0xff, &llm.Part{Kind: llm.Reasoning})
	}
	d.delta(c, keyThoughts+at&0xff, t.text)
	if seal != nil {
		c.listed[at].sealed = true
		d.sealing(c, keyThoughts+at&0xff, seal)
	}
}

// listedAt is the thought that t goes on with, -1 if it begins one: the same index, or, for what is encrypted, the summary
// before it.
func (c *decodedChoice) listedAt(t *thought, seal *llm.Seal) int {
	last := len(c.listed) - 1
	if last < 0 || c.listed[last].sealed {
		return -1
	}
	if t.index >= 0 && t.index == c.listed[last].index ||
		seal != nil && seal.Kind == llm.Encrypted && len(t.text) == 0 && c.listed[last].summary {
		return last
	}
	return -1
}

const thoughtTag, thoughtEnd = "<thought>", "</thought>"

// taggedThought says a content that Google marks as a thought; it stands in tags, and in a whole reply the answer may
// follow in the same text.
func (d *decoder) taggedThought(c *decodedChoice, raw []byte) {
	text := d.unquoted(raw)
	if rest, ok := bytes.CutPrefix(text, []byte(thoughtTag)); ok {
		c.inTag, text = true, rest
	}
	said, answer, closed := bytes.Cut(text, []byte(thoughtEnd))
	d.say(c, keyThought, said)
	if closed {
		c.inTag = false
		d.say(c, keyText, answer)
	}
}

// audio says spoken output: its data, and what was spoken. In a stream what was spoken comes bit by bit, for which there
// is no place in the part; it is said as text.
func (d *decoder) audio(c *decodedChoice, raw []byte) {
	if !isObject(raw) {
		return
	}
	var id string
	var data, transcript []byte
	r := jsonscan.Again(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "id":
			id, _ = r.Text()
		case "data":
			data = value(&r)
		case "transcript":
			transcript = value(&r)
		default:
			r.Skip()
		}
	}
	if id != "" {
		c.audioID = id
	}
	if c.begun&(1<<keyAudio) == 0 && (d.whole || data != nil) {
		c.begun |= 1 << keyAudio
		media := &llm.Media{FileID: c.audioID, Vendor: llm.OpenAI}
		if d.whole {
			media.Transcript = string(d.unquoted(transcript))
		}
		d.head(c, keyAudio, &llm.Part{Kind: llm.Audio, Media: media})
	}
	if !d.whole {
		d.texts(c, keyText, transcript)
	}
	d.delta(c, keyAudio, d.unquoted(data))
}

// images says pictures that stand beside the text (OpenRouter and others).
func (d *decoder) images(c *decodedChoice, raw []byte) {
	if len(raw) == 0 || raw[0] != '[' {
		return
	}
	r := jsonscan.Again(raw)
	r.Array()
	for r.Elem() {
		var image []byte
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if string(key) == "image_url" {
				image = value(&r)
				continue
			}
			r.Skip()
		}
		d.image(c, image)
	}
}

// image says one picture, given as a URL or an object with one.
func (d *decoder) image(c *decodedChoice, raw []byte) {
	if isObject(raw) {
		r := jsonscan.Again(raw)
		r.Object()
		raw = nil
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if string(key) == "url" {
				raw = value(&r)
				continue
			}
			r.Skip()
		}
	}
	url := string(d.unquoted(raw))
	if url == "" {
		return
	}
	key := keyImages + c.images
	c.images++
	media := &llm.Media{}
	setURL(media, url)
	data := media.Data
	media.Data = ""
	d.head(c, key, &llm.Part{Kind: llm.Image, Media: media})
	d.delta(c, key, []byte(data))
}

// annotations says sources of the text.
func (d *decoder) annotations(c *decodedChoice, raw []byte) {
	if len(raw) == 0 || raw[0] != '[' {
		return
	}
	r := jsonscan.Again(raw)
	r.Array()
	for r.Elem() {
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if string(key) == "url_citation" {
				d.cited(c, readCitation(&r))
				continue
			}
			r.Skip()
		}
	}
}

func (d *decoder) cited(c *decodedChoice, cite llm.Citation) {
	if cite.URL == "" {
		return
	}
	d.begin(c, keyText)
	d.next(llm.Cited, c.index, keyText).Citation = &cite
	d.put()
}

// readCitation reads a url_citation, or a search result of Perplexity.
func readCitation(r *jsonscan.Reader) (c llm.Citation) {
	if !r.Object() {
		return c
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "url":
			c.URL, _ = r.Text()
		case "title":
			c.Title, _ = r.Text()
		case "content", "snippet":
			c.Quote, _ = r.Text()
		case "start_index":
			n, _ := r.Int()
			c.Start = int(max(n, 0))
		case "end_index":
			n, _ := r.Int()
			c.End = int(max(n, 0))
		default:
			r.Skip()
		}
	}
	return c
}

// cite says the sources that Perplexity lists beside the choices, in every event again: once, of the first choice.
func (d *decoder) cite(c *decodedChoice) {
	results, sources := d.around.results, d.around.sources
	if d.toldSources || c.begun&(1<<keyText) == 0 || len(results) <= len("[]") && len(sources) <= len("[]") {
		return
	}
	d.toldSources = true
	if len(results) > len("[]") {
		r := jsonscan.Again(results)
		if !r.Array() {
			return
		}
		for r.Elem() {
			d.cited(c, readCitation(&r))
		}
		return
	}
	r := jsonscan.Again(sources)
	if !r.Array() {
		return
	}
	for r.Elem() {
		if url, ok := r.Text(); ok {
			d.cited(c, llm.Citation{URL: url})
		}
	}
}

// stopOf is why a choice ended, in the words of all vendors. A whole reply's choice that does not say why has ended all
// the same.
func stopOf(c *rawChoice, tools bool) (llm.Stop, string) {
	word := string(c.finish)
	switch strings.ToLower(word) {
	case "", "stop", "eos", "eos_token", "end_turn", "complete", "stop_sequence", "completed":
		switch {
		case len(c.stop) > 0:
			return llm.StopSequence, string(c.stop)
		case strings.EqualFold(word, "stop_sequence"), string(c.native) == "stop_sequence":
			return llm.StopSequence, ""
		case tools: // Gemini, and a call that was forced by name
			return llm.ToolUse, ""
		case string(c.native) == "refusal":
			return llm.Refused, ""
		}
		return llm.EndTurn, ""
	case "length", "max_tokens", "max_output_tokens", "max_completion_tokens":
		return llm.Length, ""
	case "model_length", "model_context_window_exceeded", "context_length_exceeded":
		return llm.ContextFull, ""
	case "tool_calls", "tool_call", "tool_use", "function_call":
		return llm.ToolUse, ""
	case "content_filter", "safety", "sensitive", "recitation", "blocklist", "prohibited_content", "spii":
		return llm.ContentFilter, ""
	case "refusal":
		return llm.Refused, ""
	case "pause_turn":
		return llm.Paused, ""
	}
	return llm.OtherStop, word
}
