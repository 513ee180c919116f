package modelfacts

import (
	"maps"
	"slices"
)

// Said is what a user says of a model, at one provider or, if Provider is empty, at any.
type Said struct {
	Provider, Model string
	Override        Override
}

// Book is the catalogue for one configuration: its providers, and what the user says. It is frozen once made, and safe for
// concurrent use; a nil Book knows nothing.
type Book struct {
	catalogue *Catalogue
	kinds     map[string]string // type by provider
	said      map[key]*Facts    // by provider and model
	anywhere  map[key]*Facts    // by type and model: said of no provider in particular
}

// NewBook makes a book. kinds gives each provider's type or preset. What is said of a model at one provider stands before
// what is said of it at any, and both before the catalogue, field by field. A model is meant by the id that the target has
// it by (or its base_model); what is said of gpt-4o says nothing of gpt-4o-2024-11-20.
func NewBook(c *Catalogue, kinds map[string]string, said []Said) *Book {
	b := &Book{catalogue: c, kinds: kinds, said: map[key]*Facts{}, anywhere: map[key]*Facts{}}
	lay := func(s *Said, known *Facts) *Facts {
		if known == nil {
			known = &Facts{}
		}
		f := s.Override.over(*known)
		return &f
	}
	types := slices.Compact(slices.Sorted(maps.Values(kinds))) // not each provider: there are many of few types
	for i := range said {
		for _, kind := range types {
			if s := &said[i]; s.Provider == "" {
				b.anywhere[key{kind, s.Model}] = lay(s, b.of(kind, s.Model))
			}
		}
	}
	for i := range said {
		if s := &said[i]; s.Provider != "" {
			b.said[key{s.Provider, s.Model}] = lay(s, b.Facts(s.Provider, s.Model))
		}
	}
	return b
}

// Facts gives what is known of a model at a configured provider; nil: nothing. It costs a few map lookups, and allocates
// nothing. The caller gives a target's base_model where it has one.
func (b *Book) Facts(provider, model string) *Facts {
	if b == nil {
		return nil
	}
	if f := b.said[key{provider, model}]; f != nil {
		return f
	}
	kind, configured := b.kinds[provider]
	if !configured {
		return nil
	}
	return b.of(kind, model)
}

// of gives what is known of a model at any provider of a type.
func (b *Book) of(kind, model string) *Facts {
	if f := b.anywhere[key{kind, model}]; f != nil || b.catalogue == nil {
		return f
	}
	return b.catalogue.Find(kind, model)
}
