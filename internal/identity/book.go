package identity

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// MaxKeys is how many keys are kept that were made here, those revoked among them.
const MaxKeys = 20_000

// Own is a key of the config.
type Own struct {
	Principal
	Value string
}

// Book knows all callers. Its methods are safe for concurrent use; those for the request path take no lock and do no I/O.
type Book struct {
	// blind is the key under which keys of the config are kept, made anew in each process: who presents a key cannot steer where it is looked for.
	blind macKey
	dummy made // what a key is held against that nobody has
	own   atomic.Pointer[map[digest]*Principal]
	made  shelf
	// tokens are the issuers that are trusted; nil: none is.
	tokens atomic.Pointer[bearers]
	// unread: keys of the store may be missing.
	unread atomic.Bool

	mu      sync.Mutex // guards what follows; taken by those who change something
	teams   map[string]*Team
	trusted *bearers // the issuers as Trust took them
	records map[string]Record
	bearers map[string][]string // ids of the records of a name
	names   map[string]*Principal
	tickets sync.Map // number → *Principal
}

// made is a record as requests look at it.
type made struct {
	who    *Principal // nil: it lets nobody in, and has no hashes
	salt   [saltSize]byte
	hashes [2]Hash
}

// NewBook is an empty one.
func NewBook() *Book {
	b := &Book{blind: randomKey(), records: map[string]Record{}, bearers: map[string][]string{}, names: map[string]*Principal{}}
	b.own.Store(&map[digest]*Principal{})
	b.dummy.salt = newSalt()
	for i := range b.dummy.hashes {
		b.dummy.hashes[i].Sum = hashOf(b.dummy.salt, draw(secretSize))
	}
	return b
}

// Configure takes the config's keys and teams, in place of those before. Keys that were made here stay, with what their teams now are.
func (b *Book) Configure(keys []Own, teams []Team) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.teams = make(map[string]*Team, len(teams))
	for i := range teams {
		t := teams[i]
		b.teams[t.Name] = &t
	}
	own := make(map[digest]*Principal, len(keys))
	before := b.names
	b.names = make(map[string]*Principal, len(keys)+len(b.records))
	for i := range keys {
		p := keys[i].Principal
		p.settle(b.teams, usedBefore(before[p.Name]))
		p.seals[0] = sealOf([]byte(keys[i].Value))
		own[b.blind.sum(keys[i].Value)] = &p
		b.enter(&p)
	}
	b.own.Store(&own)
	b.join()
	for name := range b.bearers {
		b.list(name)
	}
	b.tickets.Range(func(number, p any) bool { // of keys that are gone; those that stay were found all the time
		if b.names[p.(*Principal).Name] != p {
			b.tickets.CompareAndDelete(number, p)
		}
		return true
	})
}

func usedBefore(p *Principal) *atomic.Int64 {
	if p == nil {
		return nil
	}
	return p.used
}

// enter makes a principal known by name and by its tickets. It requires the lock.
func (b *Book) enter(p *Principal) {
	b.names[p.Name] = p
	for i := range p.seals {
		if p.seals[i] != (seal{}) {
			b.tickets.Store(p.seals[i].number(), p)
		}
	}
}

// leave takes one out that Find knows by its id. It requires the lock.
func (b *Book) leave(id string) {
	m := b.made.find(id)
	if m == nil || m.who == nil {
		return
	}
	if b.names[m.who.Name] == m.who {
		delete(b.names, m.who.Name)
	}
	for i := range m.who.seals {
		b.tickets.CompareAndDelete(m.who.seals[i].number(), m.who)
	}
}

// list makes the records of a name known to requests. Of several that are not revoked, which can only be if two instances made them in the same
// moment, the first one made lets its bearer in, and none does if a key of the config has the name: two callers would be taken for one. It requires the lock.
func (b *Book) list(name string) {
	var first *Record
	for _, id := range b.bearers[name] {
		r := b.records[id]
		if r.Revoked.IsZero() && (first == nil || cmp.Or(r.Created.Compare(first.Created), cmp.Compare(r.ID, first.ID)) < 0) {
			first = &r
		}
	}
	if p := b.names[name]; p != nil && p.ID == "" {
		first = nil
	}
	for _, id := range b.bearers[name] {
		var used *atomic.Int64
		if m := b.made.find(id); m != nil {
			used = usedBefore(m.who)
		}
		if first == nil || first.ID != id {
			b.leave(id)
			b.made.put(id, &made{})
			continue
		}
		p := first.Principal
		p.settle(b.teams, used)
		for i := range first.Hashes {
			if !first.Hashes[i].none() {
				p.seals[i] = sealOf(first.Hashes[i].Sum[:])
			}
		}
		p.sealed = first.Hashes[1].Until
		b.enter(&p) // before the old one leaves: its tickets are good throughout
		b.leave(id)
		b.made.put(id, &made{who: &p, salt: first.Salt, hashes: first.Hashes})
	}
}

// Hear takes records as they stand in the store, and says how many of them were news. One that is older than what is known is passed over, and what is
// revoked stays so.
func (b *Book) Hear(records ...Record) (news int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range records {
		r := records[i]
		known, seen := b.records[r.ID]
		if seen && (known.Version >= r.Version || known.Name != r.Name) || !seen && len(b.records) >= MaxKeys {
			continue
		}
		b.records[r.ID] = r
		if !seen {
			b.bearers[r.Name] = append(b.bearers[r.Name], r.ID)
		}
		b.list(r.Name)
		news++
	}
	return news
}

// Forget drops records of which the store has no more than that they were.
func (b *Book) Forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, known := b.records[id]
	if !known {
		return
	}
	b.leave(id)
	b.made.drop(id)
	delete(b.records, id)
	rest := slices.DeleteFunc(b.bearers[r.Name], func(o string) bool { return o == id })
	if b.bearers[r.Name] = rest; len(rest) == 0 {
		delete(b.bearers, r.Name)
	}
	b.list(r.Name)
}

// Knows says whether a record is known in a version, or in a later one.
func (b *Book) Knows(id string, version uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.records[id].Version >= version
}

// Records are all keys that were made here, in the order in which they were made.
func (b *Book) Records() []Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Values(b.records), func(x, y Record) int {
		return cmp.Or(x.Created.Compare(y.Created), cmp.Compare(x.ID, y.ID))
	})
}

// Record is one of them, by its id, or by its name if no id is such.
func (b *Book) Record(id string) (r Record, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r, ok = b.records[id]; ok {
		return r, true
	}
	for _, other := range b.bearers[id] {
		if r, ok = b.records[other]; ok && r.Revoked.IsZero() {
			break
		}
	}
	return r, ok
}

// Words are what is said of whoever has a name, also of one that is revoked: for reports. known is false where nobody has it.
func (b *Book) Words(name string) (owner, team string, labels map[string]string, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.names[name]; p != nil {
		return p.Owner, p.Team, p.Labels, true
	}
	for _, id := range b.bearers[name] {
		r := b.records[id]
		return r.Owner, r.Team, r.Labels, true
	}
	return "", "", nil, false
}

// Live says whether any key that was made here lets somebody in.
func (b *Book) Live() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.records {
		if r.Revoked.IsZero() {
			return true
		}
	}
	return false
}

// taken says by whom a name is used: by a key of the config, or by one that was made here. It requires no lock.
func (b *Book) taken(name string) (config bool, by *Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.names[name]; p != nil && p.ID == "" {
		return true, nil
	}
	for _, id := range b.bearers[name] {
		r := b.records[id]
		return false, &r
	}
	return false, nil
}

// Named is the principal of a name among those of the config and those made here, nil if there is none. It is not for the request path.
func (b *Book) Named(name string) *Principal {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.names[name]
}

// Own are the principals of the config's keys, by name.
func (b *Book) Own() []*Principal {
	return slices.SortedFunc(maps.Values(*b.own.Load()), func(x, y *Principal) int { return cmp.Compare(x.Name, y.Name) })
}

// Team is a team of the config; nil: there is none.
func (b *Book) Team(name string) *Team {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.teams[name]
}

// Await says that keys in the store are not known yet, Ready that they are.
func (b *Book) Await() { b.unread.Store(true) }

// Ready says that the store was read.
func (b *Book) Ready() { b.unread.Store(false) }

// Waits says whether keys in the store are still not known.
func (b *Book) Waits() bool { return b.unread.Load() }
