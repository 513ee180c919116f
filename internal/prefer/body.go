package prefer

import (
	"strings"

	"evergate/internal/jsonscan"
)

// members are what the object may have.
var members = []string{
	"order", "only", "ignore", "allow_fallbacks", "sort", "require_parameters", "data_collection", "max_price",
}

// object reads the body's "provider".
func (r *reader) object(raw []byte) error {
	s := jsonscan.New(raw)
	if len(raw) == 0 || s.Null() {
		return nil
	}
	if !s.Object() {
		return wrong("provider", "must be an object such as {\"order\": [\"openai\"]}: it says which providers a request may go to")
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		name := string(key)
		if s.Null() { // OpenRouter's clients write it for what they do not ask
			if !isMember(name) {
				return r.unknown("provider", name, members)
			}
			continue
		}
		if err := r.member(name, &s); err != nil {
			return err
		}
	}
	return nil
}

func isMember(name string) bool {
	for _, m := range members {
		if m == name {
			return true
		}
	}
	return false
}

// member takes one of the object's, unless the header has said it.
func (r *reader) member(name string, s *jsonscan.Reader) error {
	at := "provider." + name
	switch name {
	case "order", "only", "ignore":
		return r.list(name, at, s)
	case "allow_fallbacks":
		yes, ok := s.Bool()
		if !ok {
			return wrong(at, "must be true or false")
		}
		if !r.set["fallbacks"] {
			r.p.NoFallbacks = !yes
		}
	case "require_parameters":
		yes, ok := s.Bool()
		if !ok {
			return wrong(at, "must be true or false")
		}
		if !r.set["strict"] && !r.set[name] {
			r.p.Strict = r.p.Strict || yes
		}
	case "sort":
		word, err := sortWord(at, s)
		if err != nil || r.set["sort"] || r.set["strategy"] {
			return err
		}
		return r.sort(at, word)
	case "data_collection":
		word, ok := s.Text()
		if !ok {
			return wrong(at, "must be deny or allow")
		}
		if !r.set[name] {
			return r.collection(at, word)
		}
	case "max_price":
		return r.prices(at, s)
	default:
		return r.unknown("provider", name, members)
	}
	return nil
}

// list reads an array of providers.
func (r *reader) list(name, at string, s *jsonscan.Reader) error {
	names, ok := texts(s)
	if !ok {
		return wrong(at, "must be an array of providers")
	}
	if r.set[name] || len(names) == 0 {
		return nil
	}
	providers, err := r.providers(at, names)
	switch name {
	case "order":
		r.p.Order = providers
	case "only":
		r.p.Only = providers
	case "ignore":
		r.p.Ignore = providers
	}
	return err
}

// sortWord reads the word itself, or OpenRouter's longer form of it.
func sortWord(at string, s *jsonscan.Reader) (string, error) {
	if s.Kind() == jsonscan.String {
		word, _ := s.Text()
		return word, nil
	}
	word := ""
	if s.Object() {
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			switch string(key) {
			case "by":
				word, _ = s.Text()
			case "partition":
				if by, ok := s.Text(); !ok || by != "model" {
					return "", wrong(at+".partition", "must be model: the models of a request are tried one after the other")
				}
			default:
				return "", wrong(at, quote(string(key))+" is not known here; known are by, partition")
			}
		}
	}
	if word == "" {
		return "", wrong(at, "must be latency, price or throughput")
	}
	return word, nil
}

// prices reads max_price.
func (r *reader) prices(at string, s *jsonscan.Reader) error {
	if !s.Object() {
		return wrong(at, `must be an object such as {"prompt": 1, "completion": 2}, in US dollars for a million tokens`)
	}
	most := r.p.MaxPrice
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		name := string(key)
		text := strings.Trim(string(s.Raw()), `"`) // OpenRouter takes both
		v, err := price(at+"."+name, text)
		switch {
		case name != "prompt" && name != "completion":
			return r.unknown(at, name, []string{"prompt", "completion"})
		case err != nil:
			return err
		case name == "prompt":
			most.Prompt = v
		default:
			most.Completion = v
		}
	}
	if !r.set["max_price"] {
		r.p.MaxPrice = most
	}
	return nil
}

// models reads the body's "models".
func (r *reader) models(raw []byte) error {
	s := jsonscan.New(raw)
	if len(raw) == 0 || s.Null() {
		return nil
	}
	names, ok := texts(&s)
	if !ok {
		return wrong("models", "must be an array of model names, to be tried after that of the request")
	}
	if r.set["models"] {
		return nil
	}
	return r.modelNames("models", names)
}

// texts reads an array of texts.
func texts(s *jsonscan.Reader) (out []string, ok bool) {
	if s.Kind() != jsonscan.Array {
		return nil, false
	}
	s.Array()
	ok = true
	for s.Elem() {
		text, is := s.Text()
		out, ok = append(out, text), ok && is
	}
	return out, ok && s.OK()
}
