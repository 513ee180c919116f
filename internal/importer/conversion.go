package importer

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"evergate/internal/guardrail"
)

// conversion is one source on its way.
type conversion struct {
	src   Source
	root  *node
	kinds map[string]kind
	notes []Note
	vars  []*variable
	// named are the variables that the source itself refers to: no literal of it gets one of their names.
	named map[string]bool
	// defaults are secrets that references of the source held; like a literal's value they are compared, and never written.
	defaults []string
	shapes   *guardrail.Redactor // made when it is needed; see shaped
	draft
}

// variable is an environment variable that the configuration names.
type variable struct {
	name, from string
	sample     string // what the checker is given in its place
	// value is the literal of the source that it stands for, where it was one. It is compared, and never written.
	value, hint string
	literal     bool
	// insteadOf is the name that was meant, where a literal of the source had it already.
	insteadOf string
}

// leastSecret is how long a secret is at least.
const leastSecret = 12

// The samples that the checker gets in the place of what variables hold.
const (
	sampleSecret = "sample-of-a-secret-0123456789" //nolint:gosec // no secret: it stands for one while the result is checked
	sampleURL    = "https://sample.invalid"
	sampleWord   = "sample"
	samplePort   = "6379"
)

var (
	litellmVar  = regexp.MustCompile(`^os\.environ/([A-Za-z_][A-Za-z0-9_]*)$`)
	bifrostVar  = regexp.MustCompile(`^env\.([A-Za-z_][A-Za-z0-9_]*)$`)
	shellVar    = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
	shellOrElse = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*):-([^{}$]*)\}$`)
	mustache    = regexp.MustCompile(`^\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}$`)
)

// reference gives the name of the variable that a text of the source stands for, and the value it has where there is none.
func (c *conversion) reference(text string) (name, fallback string, ok bool) {
	for _, form := range []*regexp.Regexp{litellmVar, bifrostVar, shellVar, mustache} {
		if m := form.FindStringSubmatch(text); m != nil {
			return m[1], "", c.speaks(form)
		}
	}
	if m := shellOrElse.FindStringSubmatch(text); m != nil {
		return m[1], m[2], c.speaks(shellOrElse)
	}
	return "", "", false
}

// speaks says whether the source's format has this form of reference; in another it would be a literal.
func (c *conversion) speaks(form *regexp.Regexp) bool {
	switch form {
	case litellmVar:
		return c.src.Format == "litellm"
	case bifrostVar:
		return c.src.Format == "bifrost"
	case mustache:
		return c.src.Format == "portkey"
	}
	return c.src.Format != "litellm"
}

// secret gives the text that stands for a secret: always a variable. What the source says itself becomes the variable that hint names.
func (c *conversion) secret(n *node, hint string) raw {
	c.carry(n)
	if name, fallback, ok := c.reference(n.str()); ok {
		if fallback != "" {
			c.noDefault(n, name, fallback)
		}
		return c.use(name, n.path, sampleSecret)
	}
	v := c.literal(n.str(), hint, n.path)
	n.mark = approximated
	c.note(n, Secret, "holds a secret in plain text; put it into the variable %s", v.name)
	return raw("${" + v.name + "}")
}

// noDefault leaves out what a reference says for the case that its variable is not set: it is a secret, or holds one.
func (c *conversion) noDefault(n *node, name, fallback string) {
	c.defaults = append(c.defaults, fallback)
	n.mark = approximated
	c.note(n, Secret, "has a default in plain text, which is left out; set the variable %s", name)
}

// literal is the variable for a secret that stands in the source. The same secret has one; what is too short to be a secret, such as a placeholder, one for
// each place.
func (c *conversion) literal(value, hint, from string) *variable {
	for _, v := range c.vars {
		if v.literal && v.value == value && (len(value) >= leastSecret || v.hint == hint) {
			return v
		}
	}
	v := &variable{name: c.free(envName(hint)), from: from, sample: sampleSecret, value: value, hint: hint, literal: true}
	c.vars = append(c.vars, v)
	return v
}

// use names a variable.
func (c *conversion) use(name, from, sample string) raw {
	insteadOf := ""
	for _, v := range c.vars {
		switch {
		case v.insteadOf == name, v.name == name && !v.literal:
			return raw("${" + v.name + "}")
		case v.name == name:
			insteadOf = name
		}
	}
	if insteadOf != "" { // they are two secrets
		name = c.free(name)
	}
	c.vars = append(c.vars, &variable{name: name, from: from, sample: sample, insteadOf: insteadOf})
	return raw("${" + name + "}")
}

// refers collects the variables that the source refers to.
func (c *conversion) refers(n *node) {
	if name, _, ok := c.reference(n.str()); ok {
		c.named[name] = true
	}
	n.children(c.refers)
}

// free gives a name that no variable has yet.
func (c *conversion) free(name string) string {
	for i, try := 2, name; ; i++ {
		taken := c.named[try]
		for _, v := range c.vars {
			taken = taken || v.name == try
		}
		if !taken {
			return try
		}
		try = name + "_" + itoa(i)
	}
}

// entra carries over what a provider signs in to Azure with, where it is whole.
func (c *conversion) entra(p *provider, m *mapping, tenant, id, secret *node) {
	switch {
	case !id.set():
		return
	case !secret.set():
		c.hand(id, "stands without a client_secret: say entra of the provider %s, or its key", p.name)
		return
	}
	e := m.find("entra")
	e.setIf("tenant_id", c.word(tenant, sampleWord))
	e.setIf("client_id", c.word(id, sampleWord))
	e.setIf("client_secret", c.secret(secret, p.name+"_CLIENT_SECRET"))
	p.keyless = true
}

// word gives the text of a value that is no secret; a reference stays one.
func (c *conversion) word(n *node, sample string) any {
	c.carry(n)
	name, fallback, ok := c.reference(n.str())
	if !ok && c.shaped(n.str()) {
		return c.secret(n, n.path[strings.LastIndexAny(n.path, ".]")+1:])
	}
	if !ok {
		return text(n.str())
	}
	if fallback != "" && c.shaped(fallback) {
		c.noDefault(n, name, fallback)
		fallback = ""
	}
	if fallback != "" {
		c.use(name, n.path, sample)
		return raw("${" + name + ":-" + fallback + "}")
	}
	return c.use(name, n.path, sample)
}

// address gives a URL. One that holds a password or a query becomes a variable, as secrets do.
func (c *conversion) address(n *node, hint string) any {
	if name, fallback, ok := c.reference(n.str()); ok {
		if strings.ContainsAny(fallback, "@?") || c.shaped(fallback) {
			c.carry(n)
			c.noDefault(n, name, fallback)
			return c.use(name, n.path, sampleURL)
		}
		return c.word(n, sampleURL)
	}
	if strings.ContainsAny(n.str(), "@?") || c.shaped(n.str()) {
		value := c.secret(n, hint)
		c.sampleOf(value, sampleURL)
		return value
	}
	if strings.Contains(n.str(), "${") {
		return c.mixed(n, sampleWord)
	}
	c.carry(n)
	if base, _, ok := strings.Cut(n.str(), "/openai/deployments/"); ok {
		c.approx(n, "is the resource's address here: deployments are models")
		return text(base)
	}
	return text(strings.TrimRight(n.str(), "/"))
}

// proxy gives the address of a proxy.
func (c *conversion) proxy(n *node, p *provider) any {
	address := c.address(n, p.name+"_PROXY_URL")
	if ref, ok := address.(raw); ok {
		c.sampleOf(ref, "http://sample.invalid:3128")
	}
	return address
}

var within = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^{}$]*)?\}`)

// mixed gives a text with references in it, of a format that writes them as we do.
func (c *conversion) mixed(n *node, sample string) any {
	c.carry(n)
	if c.src.Format == "litellm" {
		return text(n.str())
	}
	for _, m := range within.FindAllStringSubmatch(n.str(), -1) {
		c.use(m[1], n.path, sample)
	}
	if rest := within.ReplaceAllString(n.str(), ""); strings.Contains(rest, "${") {
		return text(n.str())
	}
	return raw(n.str())
}

// sampleOf sets what the checker gets for a variable.
func (c *conversion) sampleOf(ref raw, sample string) {
	for _, v := range c.vars {
		if "${"+v.name+"}" == string(ref) {
			v.sample = sample
		}
	}
}

// placeholder is the environment of the checker.
func (c *conversion) placeholder(name string) (string, bool) {
	for _, v := range c.vars {
		if v.name == name && v.sample == sampleSecret {
			return v.sample + "-" + v.name, true // two keys of a provider must differ
		}
		if v.name == name {
			return v.sample, true
		}
	}
	return "", false
}

// leaks says whether a text holds a secret of the source. Words of a few letters are not looked for: they stand in any text.
func (c *conversion) leaks(s string) bool {
	for _, v := range c.vars {
		if v.literal && len(v.value) >= leastSecret && strings.Contains(s, v.value) {
			return true
		}
	}
	return slices.ContainsFunc(c.defaults, func(d string) bool { return len(d) >= leastSecret && strings.Contains(s, d) })
}

func (c *conversion) variables() []Variable {
	out := []Variable{}
	for _, v := range c.vars {
		out = append(out, Variable{Name: v.name, From: v.from, Literal: v.literal})
	}
	return out
}

// envName makes the name of an environment variable of a text.
func envName(s string) string {
	var b strings.Builder
	for _, r := range strings.ToUpper(s) {
		switch {
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9' && b.Len() > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	name := strings.Trim(b.String(), "_")
	if len(name) > 60 {
		name = strings.TrimRight(name[:60], "_")
	}
	if name == "" {
		return "SECRET"
	}
	return name
}

// slug makes a name of a provider, or of a key, of a text.
func slug(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_' || r == '-'):
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	out := strings.Trim(b.String(), "-.")
	if len(out) > 60 {
		out = strings.TrimRight(out[:60], "-.")
	}
	return out
}
