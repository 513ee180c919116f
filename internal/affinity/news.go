package affinity

import (
	"cmp"
	"slices"
)

// newsOfShard is how many conversations a shard notes until they are told: of those that are as many as all of News may be, some shards have more.
const newsOfShard = 32

// news are the places of a shard that hold what was not told yet, each once.
type news struct {
	places [newsOfShard]uint16
	first  uint16 // the oldest
	count  uint16
}

// note marks an entry as one to be told of, and gives how many fell out for it. It requires the lock.
func (s *shard) note(set uint64, way int) (lost uint64) {
	n := &s.news
	if n.count == newsOfShard {
		out := s.entry(n.places[n.first])
		if out.marks&untold != 0 {
			out.marks &^= untold
			lost = 1
		}
		n.first, n.count = (n.first+1)%newsOfShard, n.count-1
	}
	n.places[(n.first+n.count)%newsOfShard] = uint16(set*ways) + uint16(way) //nolint:gosec // less than sets*ways
	n.count++
	return lost
}

func (s *shard) entry(place uint16) *entry { return &s.sets[place/ways][place%ways] }

// Note is one conversation as instances tell each other of it.
type Note struct {
	Conversation [2]uint64
	At           int64 // when it was answered, in Unix milliseconds
	Target       uint32
	Credential   uint16 // by name; 0: not known
}

// Share says whether conversations that are answered from now on are noted for News.
func (t *Table) Share(on bool) { t.shared.Store(on) }

// Shared says what Share said.
func (t *Table) Shared() bool { return t.shared.Load() }

// Lost is how many conversations were answered and never told, because there were more than News takes.
func (t *Table) Lost() uint64 { return t.lost.Load() }

// News are the conversations that were answered here since it was last called, the latest first, at most so many. What is more is not told.
func (t *Table) News(most int) []Note {
	var out []Note
	for i := range t.shards {
		out = t.shards[i].take(out)
	}
	slices.SortFunc(out, latestFirst)
	if len(out) > most {
		t.lost.Add(uint64(len(out) - most)) //nolint:gosec // more than zero
		out = out[:most]
	}
	return out
}

func (s *shard) take(out []Note) []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.news.count {
		e := s.entry(s.news.places[(s.news.first+i)%newsOfShard])
		if e.marks&untold == 0 {
			continue // what stood there gave way to what was heard of another
		}
		e.marks &^= untold
		out = append(out, e.note())
	}
	s.news = news{}
	return out
}

func (e *entry) note() Note {
	return Note{Conversation: e.id, At: e.at, Target: e.target, Credential: e.named}
}

func latestFirst(a, b Note) int { return cmp.Compare(b.At, a.At) }

// Latest are the conversations that were answered here last, the latest first, at most so many, told or not. It looks at the whole memory, a
// part at a time.
func (t *Table) Latest(most int) []Note {
	var out []Note
	for i := range t.shards {
		out = t.shards[i].latest(out)
		if len(out) > 4*most { // what is not among the latest of some is not among those of all
			slices.SortFunc(out, latestFirst)
			out = out[:most]
		}
	}
	slices.SortFunc(out, latestFirst)
	return out[:min(len(out), most)]
}

func (s *shard) latest(out []Note) []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.sets {
		for k := range s.sets[i] {
			if e := &s.sets[i][k]; e.marks&own != 0 {
				out = append(out, e.note())
			}
		}
	}
	return out
}

// Hear takes what another instance tells. What is known here of the same conversation stands if it is as young.
func (t *Table) Hear(told []Note) {
	for i := range told {
		n := &told[i]
		if n.At <= 0 {
			continue
		}
		t.put(entry{id: n.Conversation, at: n.At, target: n.Target, named: n.Credential}, true)
	}
}
