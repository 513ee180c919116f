package llm

// Vendor is who made a model or an opaque block: what one vendor signed or encrypted only the same vendor can read.
type Vendor string

// The vendors whose opaque blocks are known.
const (
	OpenAI    Vendor = "openai"
	Anthropic Vendor = "anthropic"
	Google    Vendor = "google"
	Amazon    Vendor = "amazon"
	Cohere    Vendor = "cohere"
)

// Request is one generation asked for, in no vendor's words. Pointers and empty strings are unset.
type Request struct {
	Model  string
	Stream bool
	// StreamUsage: the client wants usage in its stream. Dialects that always say it set it.
	StreamUsage bool

	// System is the system prompt, its text blocks in order.
	System   []Part
	Messages []Message

	Tools []Tool
	// Choice says which tools may or must be called; the zero value leaves it to the model.
	Choice ToolChoice
	// Parallel says whether several tools may be called at once; nil: unsaid.
	Parallel *bool
	// OldFunctions: the client declared its tools as functions, as chat completions did before there were tools; it wants
	// its one call in that form.
	OldFunctions bool

	// MaxTokens bounds the output in tokens, reasoning included; 0: unset.
	MaxTokens        int64
	Temperature      *float64
	TopP, MinP       *float64
	TopK             *int64
	FrequencyPenalty *float64
	PresencePenalty  *float64
	Seed             *int64
	// Choices is how many answers are wanted; 0 counts as 1.
	Choices     int
	Stop        []string
	LogProbs    bool
	TopLogProbs int
	// LogitBias is raw JSON: an object from token id to bias.
	LogitBias []byte

	// Format is the form that the answer must have.
	Format Format
	// Reasoning says how much the model may think; nil: unsaid.
	Reasoning *Effort
	// Verbosity is low, medium or high.
	Verbosity string

	// ServiceTier is the client's word: auto, default, flex, priority, standard_only, …
	ServiceTier string
	// User names the end user to the provider's abuse detection.
	User string
	// Metadata is raw JSON: an object of strings that the provider keeps with the answer.
	Metadata []byte
	// CacheKey names the conversation to the provider's prompt cache; CacheRetention is its word for how long.
	CacheKey, CacheRetention string
	// Cache marks the end of the whole prompt as one to be cached (a marker without a part of its own).
	Cache *Cache
	// Modalities are the output's kinds where text alone is not it: text, audio, image.
	Modalities []string
	// AudioVoice and AudioFormat say how spoken output sounds and is coded.
	AudioVoice, AudioFormat string
	// Store says whether the provider may keep the answer to be fetched later; nil: unsaid.
	Store *bool
	// Previous is the id of the earlier answer that this request continues, to be said again in the answer; what was said
	// there is in Messages.
	Previous string

	// Dropped collects what was lost on the way so far; never nil in a request that a decoder made.
	Dropped *Dropped
}

// Role is who speaks.
type Role uint8

// The roles. Tool results are parts of a User message; a System message is one in the middle of a conversation.
const (
	User Role = iota + 1
	Assistant
	System
)

// Message is one turn. Neighbours may have the same role; a dialect that wants turns to alternate joins them.
type Message struct {
	Role Role
	// Name tells participants of the same role apart; most dialects have no place for it.
	Name    string
	Content []Part
}

// PartKind says which fields of a Part hold.
type PartKind uint8

// The kinds of a part.
const (
	// Text: Text or Quoted, Citations.
	Text PartKind = iota + 1
	// Image, Document, Audio and Video: Media.
	Image
	Document
	Audio
	Video
	// ToolCall: Call.
	ToolCall
	// ToolResult: Result.
	ToolResult
	// Reasoning: Text (may be empty), Seal.
	Reasoning
	// Refusal: Text is what the model said instead of an answer.
	Refusal
	// Opaque is a block that means something to one vendor's dialect alone (server tools and their results, container
	// uploads): Opaque. Encoders of the same vendor write it as it is, all others drop it by name.
	Opaque
)

// Part is one piece of a message. Kind says which of the other fields hold.
type Part struct {
	Kind PartKind
	Text string
	// Quoted is the text as the client's JSON has it, its quotes left out, in the form that this gateway writes it in
	// itself; Text is empty then. Only what wire decodes to be translated has it, and only in Text parts.
	Quoted    []byte
	Media     *Media
	Call      *Call
	Result    *Result
	Seal      *Seal
	Opaque    *Block
	Citations []Citation
	// Cache marks the prompt's end up to here as one to be cached.
	Cache *Cache
	// Signature is the seal of a part that is no reasoning (Gemini signs tool calls and text).
	Signature *Seal
}

// HasText says that there is some text, in whichever form.
func (p *Part) HasText() bool { return p.Text != "" || len(p.Quoted) > 0 }

// Cache is a prompt-cache marker; TTL is the client's word for how long, such as 5m or 1h, or empty.
type Cache struct{ TTL string }

// Media is an image, a document, or a recording: one of Data, URL, FileID and PlainText.
type Media struct {
	// Type is the MIME type, empty if unsaid.
	Type string
	// Data is standard base64, as it came.
	Data string
	URL  string
	// FileID is a file that was uploaded to Vendor.
	FileID string
	Vendor Vendor
	// PlainText is a document that is given as text.
	PlainText string
	// Name is the file's name or title.
	Name string
	// Detail is how closely an image is to be looked at: low, high, auto, …
	Detail string
	// Transcript is what was spoken, where it is known.
	Transcript string
}

// Call is a tool call that the model made.
type Call struct {
	ID, Name string
	// Arguments is JSON text: an object, or empty for none. Of a Custom call it is the input's plain text.
	Arguments string
	// Custom: the tool takes free text.
	Custom bool
}

// Result is what a tool gave back.
type Result struct {
	CallID string
	// Name is the tool's, where it is known.
	Name    string
	Content []Part
	Error   bool
	// Custom: it answers a Custom call.
	Custom bool
}

// SealKind says what a seal holds.
type SealKind uint8

// The kinds of seals.
const (
	// Signed: Data proves that the text beside it is the model's own.
	Signed SealKind = iota + 1
	// Redacted: Data is reasoning that is not shown.
	Redacted
	// Encrypted: Data is the whole item's reasoning, of which the text beside it is a summary.
	Encrypted
)

// Seal is what a vendor's model must get back byte for byte, and nobody else can read.
type Seal struct {
	Vendor Vendor
	Kind   SealKind
	Data   string
	// ID is the vendor's name of the item, where it has one.
	ID string
}

// Block is a vendor's own block: its type word and the raw JSON of the whole block.
type Block struct {
	Vendor Vendor
	Type   string
	Raw    []byte
}

// Citation is a source of a piece of text. Start and End count Unicode code points of the part's text; both 0: unknown.
type Citation struct {
	URL, Title, Quote string
	Start, End        int
}

// Tool is something that the model may call.
type Tool struct {
	Name, Description string
	// Schema is raw JSON: the JSON Schema of the arguments; empty: none.
	Schema []byte
	// Strict: arguments must keep to the schema; nil: unsaid.
	Strict *bool
	// Custom: it takes free text; Grammar is raw JSON of what the text must keep to, {"type":"grammar","syntax":…,"definition":…},
	// or empty.
	Custom  bool
	Grammar []byte
	// Namespace is the group that the client has the tool in, where its dialect knows groups, and Within its name there:
	// calls are told by both. Name alone tells it from all others.
	Namespace, Within string
	// Opaque is a tool that the vendor itself runs, nil for the caller's own.
	Opaque *Block
	Cache  *Cache
}

// Choosing is how free the model is to call tools.
type Choosing uint8

// The ways of a ToolChoice.
const (
	Unsaid   Choosing = iota
	Auto              // as it likes
	None              // not at all
	Required          // at least one
	Named             // the one of that name
)

// ToolChoice says which tools may or must be called.
type ToolChoice struct {
	How  Choosing
	Name string // of Named
	// Only, if not empty, are the names of the tools that may be called, of those that are declared.
	Only []string
}

// FormatKind is what form an answer must have.
type FormatKind uint8

// The forms.
const (
	FreeText FormatKind = iota
	JSONObject
	JSONSchema
)

// Format is the form of an answer.
type Format struct {
	Kind              FormatKind
	Name, Description string
	Schema            []byte // raw JSON
	Strict            *bool
}

// Effort says how much the model may think before it answers. At most one of Level and Budget leads; encoders
// translate by EffortOf and BudgetOf.
type Effort struct {
	// Off: it must not.
	Off bool
	// Level is none, minimal, low, medium, high, xhigh or max; empty: unsaid.
	Level string
	// Budget is in tokens; 0: unsaid; -1: as the model likes.
	Budget int64
	// Show says how thoughts come back: empty (the dialect's default), none, auto, concise, detailed, summarized.
	Show string
	// Sealed: the client wants encrypted thoughts back, to send them again (it keeps the conversation itself).
	Sealed bool
}
