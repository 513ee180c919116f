// Package prefer owns the words in which a request says how it wants to be routed: the header x-evergate-prefer, and the
// members "provider" and "models" of its body (CONTRACT §3 "Request control"). It reads them strictly, so that a wish that is
// not understood is never silently left out. It is pure and must not know what the wishes come to, a dialect, or HTTP.
package prefer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"evergate/internal/jsonscan"
	"evergate/internal/nearest"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// Header is the header's name, in its canonical form.
const Header = "X-Evergate-Prefer"

// What a request may list is bounded, as each name costs work.
const (
	maxNames   = 64
	maxModels  = 16
	maxTimeout = 24 * time.Hour
)

// Names are what a request can name.
type Names struct {
	// Providers are the configured ones, Policies those of the configuration.
	Providers, Policies []string
}

// reader collects one request's preferences.
type reader struct {
	names *Names
	p     route.Preferences
	set   map[string]bool // what the header has said already: it wins over the body
}

// Read gives a request's preferences: lines are those of the header; provider and models the raw values of the body's
// members, nil where there are none. What the header says stands in the place of what the body says of the same; all else
// of both holds. The error is a *wire.RequestError.
func Read(lines []string, provider, models []byte, names *Names) (*route.Preferences, error) {
	r := reader{names: names, set: map[string]bool{}}
	for _, line := range lines {
		if err := r.header(line); err != nil {
			return nil, err
		}
	}
	if err := r.object(provider); err != nil {
		return nil, err
	}
	if err := r.models(models); err != nil {
		return nil, err
	}
	return &r.p, nil
}

// headerWords are what the header may say.
var headerWords = []string{
	"strategy", "order", "only", "ignore", "sort", "fallbacks", "timeout", "policy", "strict", "require_parameters", "data_collection", "max_price", "models",
}

// header reads one line: words, or name=value, between semicolons.
func (r *reader) header(line string) error {
	for part := range strings.SplitSeq(line, ";") {
		name, value, given := strings.Cut(strings.TrimSpace(part), "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if name == "" && !given {
			continue
		}
		if name == "allow_fallbacks" {
			name = "fallbacks"
		}
		if err := r.word(name, value, given); err != nil {
			return err
		}
		r.set[name] = true
	}
	return nil
}

// word takes one of the header's.
func (r *reader) word(name, value string, given bool) error {
	at := "x-evergate-prefer: " + name
	if !given && name != "strict" && name != "require_parameters" {
		if !known(name) {
			return r.unknown("x-evergate-prefer", name, headerWords)
		}
		return wrong(at, "has no value; say "+name+"=…")
	}
	var err error
	switch name {
	case "strategy":
		return r.strategy(at, value)
	case "sort":
		return r.sort(at, value)
	case "order":
		r.p.Order, err = r.providers(at, list(value))
	case "only":
		r.p.Only, err = r.providers(at, list(value))
	case "ignore":
		r.p.Ignore, err = r.providers(at, list(value))
	case "models":
		return r.modelNames(at, list(value))
	case "fallbacks":
		var yes bool
		yes, err = boolean(at, value)
		r.p.NoFallbacks = !yes
	case "strict", "require_parameters":
		yes := true
		if given {
			yes, err = boolean(at, value)
		}
		r.p.Strict = r.p.Strict || yes
	case "timeout":
		r.p.Timeout, err = timeout(at, value)
	case "policy":
		return r.policy(at, value)
	case "data_collection":
		return r.collection(at, value)
	case "max_price":
		return r.maxPrice(at, value)
	default:
		return r.unknown("x-evergate-prefer", name, headerWords)
	}
	return err
}

func known(name string) bool {
	for _, w := range headerWords {
		if w == name {
			return true
		}
	}
	return false
}

// list reads names between commas.
func list(value string) []string {
	var out []string
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

func boolean(at, value string) (bool, error) {
	switch strings.ToLower(value) {
	case "yes", "true", "1", "on":
		return true, nil
	case "no", "false", "0", "off":
		return false, nil
	}
	return false, wrong(at, "must be yes or no, not "+quote(value))
}

func timeout(at, value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 || d > maxTimeout {
		return 0, wrong(at, "must be a time such as 20s, at most 24h, not "+quote(value))
	}
	return d, nil
}

func (r *reader) strategy(at, value string) error {
	s, ok := route.StrategyOf(value)
	if !ok {
		return r.unknown(at, value, route.StrategyWords())
	}
	r.p.Strategy, r.p.Chosen = s, true
	return nil
}

// sorts are OpenRouter's words for strategies. Tokens a second are not measured: who has least to do gives most of them.
var sorts = map[string]string{"latency": "least_latency", "price": "least_cost", "throughput": "least_busy"}

func (r *reader) sort(at, value string) error {
	word, ok := sorts[strings.ToLower(value)]
	if !ok {
		return r.unknown(at, value, []string{"latency", "price", "throughput"})
	}
	if r.set["strategy"] {
		return nil // it says the same more exactly
	}
	return r.strategy(at, word)
}

// providers gives the configured spelling of each name.
func (r *reader) providers(at string, names []string) ([]string, error) {
	switch {
	case len(names) == 0:
		return nil, wrong(at, "names no provider")
	case len(names) > maxNames:
		return nil, wrong(at, fmt.Sprintf("names more than %d providers", maxNames))
	}
	out := make([]string, 0, len(names))
next:
	for _, name := range names {
		for _, p := range r.names.Providers {
			if strings.EqualFold(p, name) {
				out = append(out, p)
				continue next
			}
		}
		return nil, r.unknown(at, name, r.names.Providers)
	}
	return out, nil
}

func (r *reader) policy(at, value string) error {
	for _, p := range r.names.Policies {
		if p == value {
			r.p.Policy = p
			return nil
		}
	}
	return r.unknown(at, value, r.names.Policies)
}

func (r *reader) collection(at, value string) error {
	switch strings.ToLower(value) {
	case "deny":
		r.p.Private = true
	case "allow":
		r.p.Private = false
	default:
		return r.unknown(at, value, []string{"allow", "deny"})
	}
	return nil
}

// maxPrice reads prompt/completion, or one number for both.
func (r *reader) maxPrice(at, value string) error {
	prompt, completion, two := strings.Cut(value, "/")
	if !two {
		completion = prompt
	}
	var err error
	if r.p.MaxPrice.Prompt, err = price(at, prompt); err != nil {
		return err
	}
	r.p.MaxPrice.Completion, err = price(at, completion)
	return err
}

func price(at, value string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(v > 0 && v <= 1e6) {
		return 0, wrong(at, "must be US dollars for a million tokens, more than 0, not "+quote(value))
	}
	return v, nil
}

func (r *reader) modelNames(at string, names []string) error {
	if len(names) > maxModels {
		return wrong(at, fmt.Sprintf("names more than %d models", maxModels))
	}
	for _, name := range names {
		if name == "" {
			return wrong(at, "has an empty name")
		}
	}
	r.p.Models = names
	return nil
}

// unknown says that a word is none of those known.
func (r *reader) unknown(at, word string, among []string) error {
	message := quote(word) + " is not known here"
	switch near := nearest.Names(word, among, 1); {
	case len(near) > 0:
		message += "; did you mean " + near[0] + "?"
	case len(among) == 0:
		message += "; there are none"
	case len(among) <= 16:
		message += "; known are " + strings.Join(among, ", ")
	}
	return wrong(at, message)
}

// wrong is a preference that cannot be kept.
func wrong(at, message string) error {
	param, _, _ := strings.Cut(at, ":")
	return &wire.RequestError{Param: param, Message: at + ": " + message}
}

// quote shows what a client wrote, shortened.
func quote(s string) string {
	if len(s) > 64 {
		s = strings.ToValidUTF8(s[:64], "") + "…"
	}
	return strconv.Quote(s)
}

// Split takes "provider" and "models" out of a body that has them: what is left is appended to dst, all else byte for byte.
// Of a member that comes more than once the last value counts. The body must be a valid object.
func Split(dst, body []byte) (rest, provider, models []byte) {
	r := jsonscan.New(body)
	r.Object()
	e := jsonscan.NewEditor(dst, body, r.Offset())
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "provider":
			provider = r.Raw()
			e.Drop(r.Offset())
		case "models":
			models = r.Raw()
			e.Drop(r.Offset())
		default:
			r.Skip()
			e.Keep(r.Offset())
		}
	}
	return e.End(), provider, models
}

// Name gives a body the name of a model, in the place of any that it has, and appends it to dst. The body must be a valid object.
func Name(dst, body []byte, model string) []byte {
	r := jsonscan.New(body)
	r.Object()
	e := jsonscan.NewEditor(dst, body, r.Offset())
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		r.Skip()
		if string(key) == "model" {
			e.Drop(r.Offset())
		} else {
			e.Keep(r.Offset())
		}
	}
	e.Add("model", jsonscan.AppendString(nil, model))
	return e.End()
}
