package openaichat

import (
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// content reads a message's content: text, or parts. Empty text is no part.
func (d *requestDecoder) content(m *wireMessage) {
	m.content, m.hasContent = nil, true
	switch d.r.Kind() {
	case jsonscan.String:
		if s, _ := d.r.RawString(); len(s) > 0 {
			m.content = append(d.says.List(), d.says.Part(s))
		}
	case jsonscan.Array:
		d.r.Array()
		for i := 0; d.r.Elem(); i++ {
			if d.part = i; i == 0 {
				m.content = d.says.List()
			}
			switch d.r.Kind() {
			case jsonscan.Object:
				d.contentPart(m)
			case jsonscan.String:
				s, _ := d.r.RawString()
				m.content = append(m.content, d.says.Part(s))
			case jsonscan.Array, jsonscan.Number, jsonscan.Bool, jsonscan.Null, jsonscan.None:
				d.refuse("", "an object")
			}
		}
		d.part = -1
	case jsonscan.Null, jsonscan.None:
		m.hasContent = false
		d.r.Skip()
	case jsonscan.Object, jsonscan.Number, jsonscan.Bool:
		d.refuse("content", "a string or an array of parts")
	}
}

// wirePart is one part of content as it was said.
type wirePart struct {
	kind     string
	text     []byte // a string's inside
	hasText  bool
	media    llm.Media
	thinking string
	sealed   *llm.Seal
	cache    *llm.Cache
}

func (d *requestDecoder) contentPart(m *wireMessage) {
	var p wirePart
	d.r.Object()
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "type":
			p.kind = d.word("type", "text", "image_url")
		case "text", "refusal", "input_text":
			p.text, p.hasText = d.rawText(string(key)), true
		case "image_url":
			d.imageURL(&p.media)
		case "input_audio":
			d.inputAudio(&p.media)
		case "file":
			d.file(&p.media)
		case "video_url":
			d.imageURL(&p.media)
		case "thinking": // Mistral's thoughts, or Anthropic's
			p.thinking = d.texts()
		case "signature":
			if s := d.text("signature"); s != "" {
				p.sealed = &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: s}
			}
		case "cache_control", "prompt_cache_breakpoint":
			p.cache = d.cache()
		default:
			d.drop(string(key))
		}
	}
	d.takePart(m, &p)
}

func (d *requestDecoder) takePart(m *wireMessage, p *wirePart) {
	part := llm.Part{Cache: p.cache}
	switch p.kind {
	case "text", "input_text", "output_text":
		if !p.hasText {
			d.fail("text", `"`+d.where("text")+`" is missing`)
		}
		if len(p.text) == 0 {
			return
		}
		part = d.says.Part(p.text)
		part.Cache = p.cache
	case "refusal":
		part.Kind, part.Text = llm.Refusal, jsonscan.TextOf(p.text)
	case "thinking":
		part.Kind, part.Text, part.Seal = llm.Reasoning, p.thinking, p.sealed
	case "image_url":
		part.Kind, part.Media = llm.Image, &p.media
	case "input_audio":
		part.Kind, part.Media = llm.Audio, &p.media
	case "file":
		part.Kind, part.Media = llm.Document, &p.media
		if strings.HasPrefix(p.media.Type, "image/") {
			part.Kind = llm.Image
		}
	case "video_url":
		part.Kind, part.Media = llm.Video, &p.media
	case "":
		d.fail("type", `"`+d.where("type")+`" is missing`)
		return
	default:
		d.fail("type", `"`+d.where("type")+`" must be text, image_url, input_audio, file or refusal, not "`+p.kind+`"`)
		return
	}
	if m := part.Media; m != nil && m.Data == "" && m.URL == "" && m.FileID == "" {
		d.fail(p.kind, `"`+d.where(p.kind)+`" is missing or holds nothing`)
		return
	}
	m.content = append(m.content, part)
}

// imageURL reads {url, detail}, or the URL alone.
func (d *requestDecoder) imageURL(to *llm.Media) {
	if d.r.Kind() == jsonscan.String {
		s := d.str()
		setURL(to, s)
		return
	}
	if !d.enter("image_url") {
		return
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "url":
			setURL(to, d.text("image_url.url"))
		case "detail":
			to.Detail = d.text("image_url.detail")
		case "format", "mime_type": // LiteLLM: the MIME type of what the URL gives
			if s := d.text("image_url.format"); to.Type == "" {
				to.Type = s
			}
		default:
			d.drop(string(key))
		}
	}
}

// setURL takes a data: URL apart; another is kept.
func setURL(to *llm.Media, url string) {
	if kind, data, ok := cutDataURL(url); ok {
		to.Type, to.Data = kind, data
		return
	}
	to.URL = url
}

// cutDataURL takes data:TYPE;base64,DATA apart.
func cutDataURL(url string) (kind, data string, ok bool) {
	if len(url) < 5 || !strings.EqualFold(url[:5], "data:") {
		return "", "", false
	}
	head, data, found := strings.Cut(url[5:], ",")
	if !found {
		return "", "", false
	}
	kind, coding, _ := strings.Cut(head, ";")
	for coding != "" { // parameters such as charset may stand before it
		var one string
		one, coding, _ = strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(one), "base64") {
			return kind, data, true
		}
	}
	return "", "", false
}

func (d *requestDecoder) inputAudio(to *llm.Media) {
	if !d.enter("input_audio") {
		return
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "data":
			data := d.text("input_audio.data")
			if _, inner, ok := cutDataURL(data); ok {
				data = inner
			}
			to.Data = data
		case "format":
			to.Type = audioType(d.text("input_audio.format"))
		default:
			d.drop(string(key))
		}
	}
}

// audioTypes are the words of "format" that are not their MIME type's second half.
func audioType(format string) string {
	switch format {
	case "":
		return ""
	case "mp3":
		return "audio/mpeg"
	case "m4a":
		return "audio/mp4"
	case "pcm16":
		return "audio/pcm"
	}
	return "audio/" + format
}

func audioFormat(kind string) string {
	switch kind {
	case "audio/mpeg", "audio/mp3", "audio/mpga":
		return "mp3"
	case "", "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav"
	case "audio/mp4", "audio/x-m4a":
		return "m4a"
	case "audio/pcm", "audio/l16":
		return "pcm16"
	}
	kind, _, _ = strings.Cut(strings.TrimPrefix(kind, "audio/"), ";")
	return strings.TrimPrefix(kind, "x-")
}

// file reads {file_id} or {filename, file_data}; file_data is a data: URL, or base64 alone, or (OpenRouter) a URL.
func (d *requestDecoder) file(to *llm.Media) {
	if !d.enter("file") {
		return
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "file_id":
			if to.FileID = d.text("file.file_id"); to.FileID != "" {
				to.Vendor = llm.OpenAI
			}
		case "filename":
			to.Name = d.text("file.filename")
		case "file_data":
			switch data := d.text("file.file_data"); {
			case strings.HasPrefix(data, "https://"), strings.HasPrefix(data, "http://"), strings.HasPrefix(data, "data:"):
				setURL(to, data)
			default:
				to.Data = data
			}
		case "format": // LiteLLM: the MIME type
			if s := d.text("file.format"); to.Type == "" {
				to.Type = s
			}
		default:
			d.drop(string(key))
		}
	}
	if to.Data != "" && to.Type == "" {
		to.Type = "application/pdf" // what files without a type have always been here
	}
}

// texts reads text that is a string, or parts with text in them.
func (d *requestDecoder) texts() string {
	if d.r.Kind() == jsonscan.String {
		s := d.str()
		return s
	}
	return string(appendTexts(nil, &d.r))
}

// appendTexts appends the text of parts; a value without any adds nothing.
func appendTexts(dst []byte, r *jsonscan.Reader) []byte {
	switch r.Kind() {
	case jsonscan.String:
		s, _ := r.Literal()
		return append(dst, s...)
	case jsonscan.Array:
		r.Array()
		for r.Elem() {
			dst = appendTexts(dst, r)
		}
		return dst
	case jsonscan.Object:
		r.Object()
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "text", "thinking", "content":
				dst = appendTexts(dst, r)
			default:
				r.Skip()
			}
		}
		return dst
	case jsonscan.Number, jsonscan.Bool, jsonscan.Null, jsonscan.None:
		r.Skip()
	}
	return dst
}
