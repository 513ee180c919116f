package llm

import "slices"

// Dropped collects the names of what a translation could not carry over, each once, in the order found. The zero value
// is ready. Names are the client's own for a field (logit_bias), or one of the words below for a kind of content.
type Dropped struct{ names []string }

// Words for content that has no field of its own.
const (
	DropImages      = "images"
	DropDocuments   = "documents"
	DropAudio       = "audio"
	DropVideo       = "video"
	DropFileIDs     = "file_ids"
	DropReasoning   = "reasoning"           // thoughts as text in the history
	DropSignatures  = "reasoning_signature" // signed, redacted or encrypted thoughts of another vendor
	DropCitations   = "citations"
	DropServerTools = "server_tools" // tools that a vendor runs, and their blocks
	DropCache       = "cache_control"
	DropCustomTools = "custom_tools" // free-text tools, their calls and results, carried as functions
	DropStrict      = "strict"
	DropToolErrors  = "tool_result_error"
	DropNames       = "name" // of participants
	// DropMore stands for all names beyond the bound.
	DropMore = "more"
)

// What is noted of one request is bounded, for a header has to carry it and clients make up names: so many names beside the
// words above, each of so many bytes.
const (
	maxDropped = 32
	maxName    = 64
)

// Add notes names; a nil receiver notes nothing.
func (d *Dropped) Add(names ...string) {
	if d == nil {
		return
	}
	for _, n := range names {
		if n == "" {
			continue
		}
		if len(d.names) >= maxDropped && !ours(n) {
			n = DropMore
		}
		if n = printable(n); !slices.Contains(d.names, n) {
			d.names = append(d.names, n)
		}
	}
}

// ours says whether a name is none that a client made up.
func ours(name string) bool {
	switch name {
	case DropImages, DropDocuments, DropAudio, DropVideo, DropFileIDs, "tools", DropReasoning, DropSignatures, DropCitations,
		DropServerTools, DropCache, DropCustomTools, DropStrict, DropToolErrors, DropNames:
		return true
	}
	return false
}

// printable is a name that can stand in a list in a header: in ASCII, without spaces and commas, and short.
func printable(name string) string {
	bad := func(c byte) bool { return c <= ' ' || c >= 0x7f || c == ',' }
	clean := len(name) <= maxName
	for i := 0; i < len(name) && clean; i++ {
		clean = !bad(name[i])
	}
	if clean {
		return name
	}
	out := []byte(name[:min(len(name), maxName)])
	for i, c := range out {
		if bad(c) {
			out[i] = '_'
		}
	}
	return string(out)
}

// Names are what was noted, to be read only.
func (d *Dropped) Names() []string {
	if d == nil {
		return nil
	}
	return d.names
}

// Content gives the names of what is lost of the question itself: images, recordings, files, all tools. An answer would
// be to another question (R46). The rest are wishes about the answer, or notes on what came before.
func (d *Dropped) Content() []string {
	var out []string
	for _, n := range d.Names() {
		switch n {
		case DropImages, DropDocuments, DropAudio, DropVideo, DropFileIDs, "tools":
			out = append(out, n)
		}
	}
	return out
}

// Clone is a copy that can be added to without changing d.
func (d *Dropped) Clone() *Dropped {
	if d == nil {
		return &Dropped{}
	}
	return &Dropped{names: slices.Clone(d.names)}
}
