package replies

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"
)

// Limits bound what is kept.
type Limits struct {
	// Bytes is what all answers take together, their keys and places included; 0: none is kept.
	Bytes int64
	// Entry is the longest body that is kept, in bytes.
	Entry int64
}

// Reply is an answer as a client got it. It is not changed once it is kept.
type Reply struct {
	// Model is the name that the client asked for, by which Purge finds it.
	Model string
	// Provider and Upstream are who gave it: the provider, and its id of the model.
	Provider, Upstream string
	Stream             bool
	ContentType        string // empty: JSON, or a stream
	// Lost is what a translation could not carry over, as the client was told.
	Lost   string
	Finish string
	// Input and Output are the tokens that it took, as the provider or an estimate counted them.
	Input, Output int64
	Body          []byte
	// At is when it was whole.
	At time.Time
}

// overhead is about what an answer takes beside its body: the structs, the places in map and list, the words.
const overhead = 512

func (r *Reply) size() int64 {
	return int64(cap(r.Body)+len(r.Lost)+len(r.ContentType)) + overhead
}

// shards is how many parts, each with a lock, a cache has at most. One part holds several of the largest answers.
const (
	shards    = 16
	perShard  = 4
	draftable = 2 // the part of Bytes that answers under way may take is 1/draftable
)

// Cache keeps answers. The zero value keeps none until Limit is called. Safe for concurrent use.
type Cache struct {
	limits atomic.Pointer[Limits]
	drafts atomic.Int64 // bytes of answers under way
	parts  [shards]part
}

type part struct {
	mu    sync.Mutex
	by    map[Key]*list.Element // of *kept
	order list.List             // the last used first
	bytes int64
}

type kept struct {
	key   Key
	reply *Reply
	until time.Time
}

// Limit sets the bounds. What is too much goes.
func (c *Cache) Limit(l Limits) {
	if before := c.limits.Swap(&l); before != nil && before.parts() != l.parts() { // they would be looked for elsewhere
		c.Purge("")
	}
	for i := range c.parts {
		p := &c.parts[i]
		p.mu.Lock()
		p.shrink(l.share(i))
		p.mu.Unlock()
	}
}

// parts is in how many parts the bytes are divided.
func (l *Limits) parts() int {
	n := int64(shards)
	for n > 1 && l.Bytes/n < perShard*(l.Entry+overhead) {
		n /= 2
	}
	return int(n)
}

// share is how many bytes a part may have.
func (l *Limits) share(part int) int64 {
	n := l.parts()
	if part >= n {
		return 0
	}
	return l.Bytes / int64(n)
}

// of is the part of a key by these limits; nil: nothing is kept.
func (c *Cache) of(l *Limits, k *Key) (*part, int64) {
	if l == nil || l.Bytes <= 0 {
		return nil, 0
	}
	i := int(k[0]) % l.parts()
	return &c.parts[i], l.share(i)
}

// Get gives the answer that is kept under a key and not too old; nil: there is none. newest, if it is not 0, is how old it may be at most.
func (c *Cache) Get(now time.Time, key Key, newest time.Duration) *Reply {
	p, _ := c.of(c.limits.Load(), &key)
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.by[key]
	if at == nil {
		return nil
	}
	k := at.Value.(*kept) //nolint:forcetypeassert // nothing else is in it
	if !now.Before(k.until) {
		p.remove(at)
		return nil
	}
	if newest > 0 && now.Sub(k.reply.At) > newest {
		return nil
	}
	p.order.MoveToFront(at)
	return k.reply
}

// Put keeps an answer until ttl after its At, in the place of one of the same key. Where the answer is too long for that, none is kept.
func (c *Cache) Put(key Key, r *Reply, ttl time.Duration) {
	l := c.limits.Load()
	p, share := c.of(l, &key)
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.by[key]; at != nil {
		p.remove(at)
	}
	// The limits are looked at again, as new ones may have moved the place of the key before the part was locked.
	if ttl <= 0 || int64(len(r.Body)) > l.Entry || r.size() > share || c.limits.Load() != l {
		return
	}
	if p.by == nil {
		p.by = map[Key]*list.Element{}
	}
	p.by[key] = p.order.PushFront(&kept{key, r, r.At.Add(ttl)})
	p.bytes += r.size()
	p.shrink(share)
}

// Drop takes away the answer of a key, if there is one.
func (c *Cache) Drop(key Key) {
	p, _ := c.of(c.limits.Load(), &key)
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.by[key]; at != nil {
		p.remove(at)
	}
}

// shrink requires the lock.
func (p *part) shrink(to int64) {
	for p.bytes > to {
		p.remove(p.order.Back())
	}
}

// remove requires the lock.
func (p *part) remove(at *list.Element) {
	k := p.order.Remove(at).(*kept) //nolint:forcetypeassert // nothing else is in it
	delete(p.by, k.key)
	p.bytes -= k.reply.size()
}

// Purge removes the answers of a model, by the name that clients ask for; empty: all. It says how many they were.
func (c *Cache) Purge(model string) (removed int) {
	for i := range c.parts {
		p := &c.parts[i]
		p.mu.Lock()
		for at := p.order.Front(); at != nil; {
			next := at.Next()
			if k := at.Value.(*kept); model == "" || k.reply.Model == model { //nolint:forcetypeassert // nothing else is in it
				p.remove(at)
				removed++
			}
			at = next
		}
		p.mu.Unlock()
	}
	return removed
}

// Stats are what a cache has now.
type Stats struct {
	Entries         int
	Bytes, MaxBytes int64
}

// Stats counts what is kept; what is too old and was not asked for since is among it.
func (c *Cache) Stats() (s Stats) {
	if l := c.limits.Load(); l != nil {
		s.MaxBytes = l.Bytes
	}
	for i := range c.parts {
		p := &c.parts[i]
		p.mu.Lock()
		s.Entries += p.order.Len()
		s.Bytes += p.bytes
		p.mu.Unlock()
	}
	return s
}
