package provider

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

const (
	maxErrorJSON = 64 << 10 // bytes of an error body that are read for its words
	maxPlainText = 300      // bytes of a plain-text error that are shown
	maxMessage   = 2 << 10  // bytes of a message that are kept
)

// words are what an upstream's error says, in whatever of the usual shapes it came: OpenAI's error object, bare or in
// an array (Gemini), FastAPI's detail, a string, one level up, or nested once more in an aggregator's.
type words struct {
	codes   []string // codes, types and reasons, in order of importance, lower case
	first   string   // the first of them as it came
	message string
	// limits are Google's quota ids; they say of what a limit is one.
	limits []string
}

// readWords reads an error body; code and message, if any, are what the dialect found and come first.
func readWords(body []byte, code, message string) words {
	w := words{message: message}
	w.code(code)
	body = bytes.TrimSpace(body)
	if len(body) == 0 || len(body) > maxErrorJSON {
		return w
	}
	var root any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		// A word or two from a proxy on the way are worth showing, a web page is not.
		if w.message == "" && len(body) <= maxPlainText && body[0] != '<' && body[0] != '{' && body[0] != '[' {
			w.message = strings.ToValidUTF8(string(body), "")
		}
		return w
	}
	if list, ok := root.([]any); ok && len(list) > 0 {
		root = list[0]
	}
	w.object(root, 0)
	return w
}

// object reads one level; the error may be at the top, under "error", or there as a string.
func (w *words) object(v any, depth int) {
	o, ok := v.(map[string]any)
	if !ok || depth > 3 {
		return
	}
	switch e := o["error"].(type) {
	case map[string]any:
		w.object(e, depth+1)
	case string:
		w.say(e)
	}
	for _, key := range [...]string{"code", "type", "status", "error_type", "reason"} {
		switch c := o[key].(type) {
		case string:
			w.code(c)
		case json.Number:
			w.code(c.String())
		}
	}
	for _, key := range [...]string{"message", "detail", "error_message", "msg"} {
		if s, ok := o[key].(string); ok {
			w.say(s)
		}
	}
	w.object(o["innererror"], depth+1)
	w.object(o["inner_error"], depth+1)
	details, _ := o["details"].([]any)
	for _, d := range details {
		detail, _ := d.(map[string]any)
		if reason, ok := detail["reason"].(string); ok {
			w.code(reason)
		}
		violations, _ := detail["violations"].([]any)
		for _, v := range violations {
			violation, _ := v.(map[string]any)
			if id, ok := violation["quotaId"].(string); ok {
				w.limits = append(w.limits, strings.ToLower(id))
			}
		}
	}
}

func (w *words) code(s string) {
	if s = strings.TrimSpace(s); s == "" || strings.EqualFold(s, "error") {
		return
	}
	if w.first == "" {
		w.first = s
	}
	w.codes = append(w.codes, strings.ToLower(s))
}

func (w *words) say(s string) {
	if w.message == "" {
		w.message = s
	}
}

// status is the HTTP status among the codes, for errors that came within a 200; 0 if there is none.
func (w *words) status() int {
	for _, c := range w.codes {
		if n, err := strconv.Atoi(c); err == nil && n >= 400 && n < 600 {
			return n
		}
	}
	return 0
}
