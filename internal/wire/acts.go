package wire

import (
	"strings"

	"evergate/internal/llm"
)

// onlyLooks are the beginnings of the names of tools that a vendor runs and that only look something up, and of tools with
// a vendor's name that the client runs itself. Whatever is not among them may act: run code, call other servers, make files.
//
//nolint:gochecknoglobals // a constant in all but type
var onlyLooks = []string{
	"web_search", "web_fetch", "file_search", "tool_search", "googleSearch", "google_search", "urlContext", "url_context", "googleMaps", "google_maps",
	"fileSearch", "enterpriseWebSearch", "retrieval",
	"bash", "text_editor", "computer", "memory", "local_shell", "apply_patch", "custom", "function",
}

// Acts says whether the request has the vendor run tools that do more than look something up, or has it keep the answer:
// it must not be asked twice at a time (R71).
func (c *Canonical) Acts() bool {
	q := c.generation
	if q == nil {
		return false
	}
	if q.Store != nil && *q.Store {
		return true
	}
	for i := range q.Tools {
		if b := q.Tools[i].Opaque; b != nil && !looks(b.Type) {
			return true
		}
	}
	for _, name := range q.Dropped.Names() {
		switch name { // what a vendor runs or keeps, and llm has no word for
		case "mcp_servers", "container", "conversation", llm.DropMore: // the last stands for what may be any of them
			return true
		}
	}
	return false
}

func looks(tool string) bool {
	for _, name := range onlyLooks {
		if strings.HasPrefix(tool, name) {
			return true
		}
	}
	return false
}

// Estimate guesses the tokens of the request's prompt, as [llm.Estimate] does; 0: it is for vectors.
func (c *Canonical) Estimate() int64 {
	if c.generation == nil {
		return 0
	}
	return llm.Estimate(c.generation)
}
