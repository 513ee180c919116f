package identity

// Route is a kind of route that a key may be held to.
type Route uint8

// The kinds of routes. The zero Route is none.
const (
	Chat Route = 1 + iota
	Completions
	Embeddings
	Responses
	Messages // Anthropic's, with its count of tokens
	Gemini   // Google's, whatever the verb
	Images
	Audio
	Moderations
	Rerank
	Files // with uploads
	Batches
	Models // the list of models
	Passthrough
)

var routeWords = [...]string{
	Chat: "chat", Completions: "completions", Embeddings: "embeddings", Responses: "responses", Messages: "messages", Gemini: "gemini",
	Images: "images", Audio: "audio", Moderations: "moderations", Rerank: "rerank", Files: "files", Batches: "batches", Models: "models",
	Passthrough: "passthrough",
}

// RouteWords are the words of the kinds.
func RouteWords() []string { return append([]string(nil), routeWords[1:]...) }

// String is its word.
func (r Route) String() string {
	if int(r) < len(routeWords) {
		return routeWords[r]
	}
	return ""
}

// routeSet is some kinds; 0 stands for all.
type routeSet uint16

func (s routeSet) has(r Route) bool { return r != 0 && s&(1<<r) != 0 }

// routesOf is the set of some words. A word that is none allows nothing, so that a list of such words alone allows no route.
func routesOf(words []string) (s routeSet) {
	if len(words) > 0 {
		s = 1 // no kind has this bit
	}
	for _, w := range words {
		for r := range routeWords {
			if r > 0 && routeWords[r] == w {
				s |= 1 << r
			}
		}
	}
	return s
}
