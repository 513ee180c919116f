package config

import "time"

// Cache says which answers are kept to be given again, and how much of them.
type Cache struct {
	// MaxBytes bounds all of them, MaxEntry the body of one.
	MaxBytes, MaxEntry int64
	// Models are those that keep answers, by the name of the virtual model.
	Models map[string]ModelCache
}

// ModelCache is one model's part.
type ModelCache struct {
	TTL time.Duration
	// Always: also where a request does not ask for temperature 0.
	Always bool
}

const (
	defaultCacheBytes = 64 << 20
	defaultCacheEntry = 1 << 20
)

type cacheFile struct{ maxBytes, maxEntry given[int64] }

func cacheShape() shape[cacheFile] {
	return object("cache", "How much is kept of answers, for models that have a cache.", []key[cacheFile]{
		field("max_bytes", "How much memory all answers take together; those unused for longest go.", size(), func(f *cacheFile) *given[int64] { return &f.maxBytes }),
		field("max_entry", "The longest answer that is kept.", size(), func(f *cacheFile) *given[int64] { return &f.maxEntry }),
	})
}

type modelCacheFile struct {
	ttl  given[time.Duration]
	when given[bool] // always
}

// modelCacheShape is how long answers are kept, or that with more words.
func modelCacheShape() shape[modelCacheFile] {
	long := object("model cache", "Keeping answers, and giving them again to the same request of the same team or key.", []key[modelCacheFile]{
		field("ttl", "How long an answer is kept.", duration(time.Second), func(f *modelCacheFile) *given[time.Duration] { return &f.ttl }),
		field("when", "temperature_0 keeps answers to requests that say temperature 0, and vectors; always to all.",
			choice(say("temperature_0", false), say("always", true)), func(f *modelCacheFile) *given[bool] { return &f.when }),
	})
	return shorthand(duration(time.Second), func(d given[time.Duration]) modelCacheFile { return modelCacheFile{ttl: d} }, long)
}

// cache is what the file comes to.
func (b *builder) cache() Cache {
	f := &b.file.cache.v
	c := Cache{MaxBytes: f.maxBytes.or(defaultCacheBytes), MaxEntry: f.maxEntry.or(defaultCacheEntry)}
	if c.MaxEntry > c.MaxBytes/4 {
		switch {
		case f.maxEntry.set:
			b.problem(f.maxEntry.at, "", "is more than a quarter of cache.max_bytes, so that a few answers would push out all others; raise max_bytes or lower max_entry")
		default:
			c.MaxEntry = c.MaxBytes / 4
		}
	}
	for _, e := range b.file.models.v {
		m := &e.v.cache
		if e.wrong || !m.set {
			continue
		}
		if !m.v.ttl.set {
			if m.v.ttl.absent() {
				b.problem(m.at, "", "has no ttl; add ttl: 1h, say")
			}
			continue
		}
		if c.Models == nil {
			c.Models = map[string]ModelCache{}
		}
		c.Models[e.name] = ModelCache{TTL: m.v.ttl.v, Always: m.v.when.v}
	}
	if f := b.file.cache; f.set && len(c.Models) == 0 {
		b.warn(f.at, "keeps nothing: no model has a cache; add cache: 1h to one under models")
	}
	return c
}
