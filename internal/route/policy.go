package route

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Answer is a fact that may be unknown.
type Answer uint8

// The answers.
const (
	Unsaid Answer = iota
	Yes
	No
)

// Retention is how long a provider keeps what it is sent. The zero value is unknown.
type Retention struct {
	Known bool
	For   time.Duration // 0: nothing is kept
}

// String is the word of the config.
func (r Retention) String() string {
	switch {
	case !r.Known:
		return "unknown"
	case r.For == 0:
		return "none"
	case r.For%(24*time.Hour) == 0:
		return strconv.Itoa(int(r.For/(24*time.Hour))) + "d"
	}
	return r.For.String()
}

// Attributes are what the operator says of a provider, for policies. What is not said satisfies no policy that asks for
// it.
type Attributes struct {
	Region         string
	Retention      Retention
	Training       Answer // whether it trains on what it is sent
	Certifications []string
}

// Policy says which providers a request may go to. The zero value allows all.
type Policy struct {
	Name string
	// Regions are those allowed; empty: all.
	Regions []string
	// Retention is the longest allowed; unknown: any.
	Retention Retention
	// NoTraining: only providers that do not train on what they are sent.
	NoTraining bool
	// Certifications are all needed.
	Certifications []string
	// Allow are the only providers allowed, empty: all; Deny are never.
	Allow, Deny []string
	// Of says whose it is where it is not one that the configuration names, such as: the key "ci".
	Of string
}

// Refuses says which of the policy's rules a provider breaks, and how; empty: none.
func (p *Policy) Refuses(provider *Provider) (rule, how string) {
	a := &provider.Attributes
	switch {
	case slices.Contains(p.Deny, provider.Name):
		return "providers.deny", "the provider is denied"
	case len(p.Allow) > 0 && !slices.Contains(p.Allow, provider.Name):
		return "providers.allow", "the provider is not among those allowed"
	case len(p.Regions) > 0 && !containsFold(p.Regions, a.Region):
		return "regions", "its region is " + said(a.Region) + ", allowed is " + strings.Join(p.Regions, ", ")
	case p.Retention.Known && (!a.Retention.Known || a.Retention.For > p.Retention.For):
		return "retention", "its retention is " + a.Retention.String() + ", allowed is " + p.Retention.String()
	case p.NoTraining && a.Training != No:
		if a.Training == Yes {
			return "training", "it trains on what it is sent"
		}
		return "training", "whether it trains on what it is sent is unknown"
	}
	for _, c := range p.Certifications {
		if !containsFold(a.Certifications, c) {
			return "certifications", "it is not known to have " + c
		}
	}
	return "", ""
}

func said(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func containsFold(list []string, s string) bool {
	return s != "" && slices.ContainsFunc(list, func(o string) bool { return strings.EqualFold(o, s) })
}

// PoliciesOf are all that hold for a request for some models: that of every request, those of the models, and the further ones
// named. A name that no policy has, which the configuration sees to, stands for nil, which refuses everybody (Filter).
func (t *Table) PoliciesOf(models []string, further ...string) (out []*Policy) {
	attach := func(name string) {
		if p := t.Policies[name]; name != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	attach(t.Policy)
	for _, name := range models {
		if v := t.Virtual[name]; v != nil {
			attach(v.Policy)
		}
	}
	for _, name := range further {
		attach(name)
	}
	return out
}
