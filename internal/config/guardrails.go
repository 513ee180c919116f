package config

import (
	"net/url"
	"slices"
	"time"

	"evergate/internal/guardrail"
	"evergate/internal/nearest"
	"evergate/internal/provider"
)

// Guardrails are what judges the words of requests and answers.
type Guardrails struct {
	// List is in the order of the file.
	List []Guardrail
	// Defaults hold for every request; Models for those of virtual models by name, those of the models within them included.
	Defaults []string
	Models   map[string][]string
}

// Guardrail is one of them: a redactor, or with Webhook a service that is asked.
type Guardrail struct {
	Name                  string
	OnRequest, OnResponse bool

	// Of a redactor: kinds of text that are known, expressions of one's own, what stands in place of what is found (empty: each kind's own), whether all is
	// blocked instead, and how much of a stream is held back for expressions that have no longest match, in bytes.
	Find     []string
	Patterns []GuardrailPattern
	Mask     string
	Block    bool
	Window   int

	Webhook bool
	// URL may be a secret as a whole. Secret signs what is sent; empty: it is not signed.
	URL, Secret provider.Secret
	// Private lets its host's name lead to private addresses.
	Private  bool
	FailOpen bool
	Timeout  time.Duration
	// Every is how many bytes of a stream are judged at a time; 0: all of a text, at its end. Concurrent is how many calls may be under way.
	Every, Concurrent int
}

// GuardrailPattern is an expression of one's own.
type GuardrailPattern struct{ Name, Pattern, Mask string }

// What a webhook has where the file says nothing.
const (
	defaultHookTimeout    = 5 * time.Second
	defaultHookConcurrent = 64
	maxGuardrails         = 64
)

type guardrailFile struct {
	webhook  given[bool]
	on       given[[]given[guardrail.Phase]]
	find     given[[]given[string]]
	patterns given[[]given[guardPatternFile]]
	mask     given[string]
	block    given[bool]
	window   given[int]
	url      given[secretText]
	secret   given[secretText]
	private  given[bool]
	failOpen given[bool]
	timeout  given[time.Duration]
	every    given[int]
	most     given[int]
}

type guardPatternFile struct{ name, pattern, mask given[string] }

func guardrailShape() shape[guardrailFile] {
	var kinds []word[string]
	for _, k := range guardrail.Kinds() {
		kinds = append(kinds, say(k, k))
	}
	return object("guardrail", "What judges the words of requests and answers.", []key[guardrailFile]{
		field("kind", "redact looks for what is not to pass; webhook asks a service.", choice(say("redact", false), say("webhook", true)), func(f *guardrailFile) *given[bool] { return &f.webhook }),
		field("on", "What it judges; without it both.", list("request, response", choice(say("request", guardrail.Request), say("response", guardrail.Response))), func(f *guardrailFile) *given[[]given[guardrail.Phase]] { return &f.on }),
		field("find", "The kinds of text that are looked for.", list("kinds such as email", choice(kinds...)), func(f *guardrailFile) *given[[]given[string]] { return &f.find }),
		field("patterns", "Regular expressions of your own (RE2).", list("patterns with a name and a pattern", object("guardrail_pattern", "A regular expression of your own.", []key[guardPatternFile]{
			field("name", "What it finds, in a word; shown where something is blocked.", text("a name"), func(f *guardPatternFile) *given[string] { return &f.name }),
			field("pattern", "The regular expression.", text("a regular expression such as 'EMP-[0-9]{6}'"), func(f *guardPatternFile) *given[string] { return &f.pattern }),
			field("mask", "What stands in place of what is found; without it the name in capitals and brackets.", text("a mask"), func(f *guardPatternFile) *given[string] { return &f.mask }),
		})), func(f *guardrailFile) *given[[]given[guardPatternFile]] { return &f.patterns }),
		field("mask", "What stands in place of everything that is found; without it each kind has its own, such as [EMAIL].", text("a mask"), func(f *guardrailFile) *given[string] { return &f.mask }),
		field("action", "redact masks what is found, block refuses the whole.", choice(say("redact", false), say("block", true)), func(f *guardrailFile) *given[bool] { return &f.block }),
		field("window", "How many bytes of a stream are held back at most for a pattern that has no longest match.", whole(16, 4096), func(f *guardrailFile) *given[int] { return &f.window }),
		field("url", "Where a webhook is asked; keep it in an environment variable where it is a secret.", secret("a URL"), func(f *guardrailFile) *given[secretText] { return &f.url }),
		field("secret", "Signs what a webhook is sent; without one it is not signed.", secret("a secret"), func(f *guardrailFile) *given[secretText] { return &f.secret }),
		field("private", "Whether the webhook's host may lead to a private address. Without it: if the name itself says so.", boolean(), func(f *guardrailFile) *given[bool] { return &f.private }),
		field("fail", "closed lets nothing pass that a webhook could not judge, open lets it pass.", choice(say("closed", false), say("open", true)), func(f *guardrailFile) *given[bool] { return &f.failOpen }),
		field("timeout", "How long a webhook may take.", duration(time.Millisecond), func(f *guardrailFile) *given[time.Duration] { return &f.timeout }),
		field("every", "How many bytes of a stream a webhook judges at a time; 0: all of a text, at its end.", whole(0, 1<<20), func(f *guardrailFile) *given[int] { return &f.every }),
		field("max_concurrent", "How many calls to a webhook may be under way; what is more waits, within its timeout.", whole(1, 10000), func(f *guardrailFile) *given[int] { return &f.most }),
	})
}

func guardrailNamesShape() shape[[]given[string]] {
	return list("names of guardrails", text("a guardrail's name"))
}

// guardrails are what the file comes to.
func (b *builder) guardrails() Guardrails {
	out := Guardrails{Defaults: texts(b.file.guardrailDefaults)}
	f := &b.file.guardrails
	if len(f.v) > maxGuardrails {
		b.problem(f.at, "", "has %d, which is more than %d", len(f.v), maxGuardrails)
	}
	for i := range f.v {
		if e := &f.v[i]; !e.wrong {
			out.List = append(out.List, b.guardrail(e))
		}
	}
	b.knownGuardrails(b.file.guardrailDefaults)
	for _, e := range b.file.models.v {
		b.knownGuardrails(e.v.guardrails)
	}
	for _, k := range b.file.auth.v.keys.v {
		b.knownGuardrails(k.v.guardrails)
	}
	for _, t := range b.file.auth.v.teams.v {
		b.knownGuardrails(t.v.guardrails)
	}
	for _, i := range b.file.auth.v.jwt.v {
		b.knownGuardrails(i.v.allow.v.guardrails)
	}
	attached := slices.ContainsFunc(b.file.models.v, func(e entry[modelFile]) bool { return e.v.guardrails.set })
	for _, e := range b.file.models.v {
		if !attached {
			break // most files have none, and some many models
		}
		if names := b.modelGuardrails(e.name); len(names) > 0 {
			if out.Models == nil {
				out.Models = map[string][]string{}
			}
			out.Models[e.name] = names
		}
	}
	return out
}

// modelGuardrails are those of a virtual model and of the models within it, each once. Models are looked at once, however many ways lead there.
func (b *builder) modelGuardrails(name string) []string {
	var out []string
	looked := map[string]bool{name: true}
	for open := []string{name}; len(open) > 0; open = open[1:] {
		e := b.family.entries[open[0]]
		if e == nil {
			continue
		}
		for _, n := range texts(e.v.guardrails) {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		for _, t := range e.v.targets.v {
			if within, ok := b.inner(t.v.target); ok && !looked[within.name] {
				looked[within.name] = true
				open = append(open, within.name)
			}
		}
	}
	return out
}

// knownGuardrails reports names of guardrails that there are not.
func (b *builder) knownGuardrails(names given[[]given[string]]) {
	var known []string
	for i := range b.file.guardrails.v {
		known = append(known, b.file.guardrails.v[i].name)
	}
	for _, n := range names.v {
		if !n.set || slices.Contains(known, n.v) {
			continue
		}
		suggestion := ""
		if near := nearest.Names(n.v, known, 1); len(near) > 0 {
			suggestion = near[0]
		}
		b.problem(n.at, suggestion, "%q is no guardrail; add it under guardrails", n.v)
	}
}

func (b *builder) guardrail(e *entry[guardrailFile]) Guardrail {
	f := &e.v
	g := Guardrail{
		Name: e.name, OnRequest: !f.on.set, OnResponse: !f.on.set, Find: texts(f.find), Mask: f.mask.v, Block: f.block.v, Window: f.window.v,
		Webhook: f.webhook.v, URL: f.url.v.value, Secret: f.secret.v.value, Private: f.private.v, FailOpen: f.failOpen.v, Timeout: f.timeout.or(defaultHookTimeout),
		Every: f.every.or(defaultEvery), Concurrent: f.most.or(defaultHookConcurrent),
	}
	for _, p := range f.on.v {
		g.OnRequest = g.OnRequest || p.v == guardrail.Request
		g.OnResponse = g.OnResponse || p.v == guardrail.Response
	}
	if f.on.set && len(f.on.v) == 0 {
		b.problem(f.on.at, "", "is empty, so that nothing would be judged; name request, response or both")
	}
	if g.Webhook {
		b.webhook(e)
	} else {
		b.redactor(e, &g)
	}
	return g
}

// defaultEvery is how many bytes of a stream a webhook judges at a time.
const defaultEvery = 1000

// redactor reads what is particular to one, and reports what is a webhook's.
func (b *builder) redactor(e *entry[guardrailFile], g *Guardrail) {
	f := &e.v
	for _, at := range []struct {
		set  bool
		at   place
		name string
	}{{f.url.set, f.url.at, "url"}, {f.secret.set, f.secret.at, "secret"}, {f.private.set, f.private.at, "private"}, {f.failOpen.set, f.failOpen.at, "fail"}, {f.timeout.set, f.timeout.at, "timeout"}, {f.every.set, f.every.at, "every"}, {f.most.set, f.most.at, "max_concurrent"}} {
		if at.set {
			b.problem(at.at, "", "is for kind: webhook; remove it, or say so")
		}
	}
	if len(f.find.v) == 0 && len(f.patterns.v) == 0 && !f.find.wrong && !f.patterns.wrong {
		b.problem(e.at, "", "finds nothing; add find: [email, secret], say, or patterns")
	}
	for _, p := range f.patterns.v {
		if p.v.name.absent() {
			b.problem(p.at, "", "has no name; add name: …")
		}
		if p.v.pattern.absent() {
			b.problem(p.at, "", "has no pattern; add pattern: …")
		}
		if !p.v.name.set || !p.v.pattern.set {
			continue
		}
		if _, err := guardrail.NewRule(p.v.name.v, "", p.v.pattern.v, 0); err != nil {
			b.problem(p.v.pattern.at, "", "is no regular expression that RE2 takes, or one that finds nothing at all: %s", err.Error())
		}
		g.Patterns = append(g.Patterns, GuardrailPattern{Name: p.v.name.v, Pattern: p.v.pattern.v, Mask: p.v.mask.v})
	}
}

// webhook says what is wrong with one, without a word of its URL.
func (b *builder) webhook(e *entry[guardrailFile]) {
	f := &e.v
	if f.find.set || f.patterns.set || f.mask.set || f.window.set || f.block.set {
		b.problem(e.at, "", "has find, patterns, mask, window or action, which are for kind: redact; remove them")
	}
	if s := f.secret; s.set && s.v.value == "" {
		b.problem(s.at, "", "is empty, so that nothing would be signed; set the variable, or remove the secret")
	}
	switch v := f.url; {
	case v.wrong:
	case v.absent():
		b.problem(e.at, "", "has no url; add url: ${…}")
	case v.v.value == "":
		b.problem(v.at, "", "is empty; set the variable, or remove the guardrail")
	default:
		u, err := url.Parse(v.v.value.Reveal())
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			b.problem(v.at, "", "is not a URL; it must begin with https:// and have a host")
		case u.Scheme == "http" && !loopback(u.Hostname()):
			b.warn(v.at, "begins with http://, so that everybody on the way can read the prompts and answers; use https:// where you can")
		}
	}
}
