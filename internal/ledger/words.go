package ledger

import "strconv"

// Words are what a store may find a row by: an index of (word, row) answers every filter but those for ids, texts and common marks. Each is a letter for what it
// is of, a colon, and the thing itself.
func (r *Request) Words() []string {
	out := make([]string, 0, 8)
	r.EachWord(func(of, what string) {
		word := of + what
		for _, have := range out {
			if have == word {
				return
			}
		}
		out = append(out, word)
	})
	return out
}

// EachWord gives the words in their two parts; one may come twice.
func (r *Request) EachWord(visit func(of, what string)) {
	add := func(of, what string) {
		if what != "" {
			visit(of, cut(what, maxName))
		}
	}
	add("k:", r.Key)
	add("r:", r.Route)
	add("c:", r.Code)
	if r.Kind != KindRequest {
		add("t:", r.Kind)
	}
	if r.Status >= 400 {
		add("s:", strconv.Itoa(r.Status))
		add("s:", strconv.Itoa(r.Status/100))
	}
	if r.Account.Failed {
		add("m:", "failed")
	}
	if r.Account.Rescued {
		add("m:", "rescued")
	}
	add("p:", r.Provider)
	add("u:", r.Model)
	for i := range r.Trail {
		s := &r.Trail[i]
		if s.Drill != "" {
			add("d:", s.Drill)
			add("m:", "drill")
		}
		if !s.Skipped {
			add("p:", s.Provider)
			add("u:", s.Model)
		}
	}
}

// Words are those that every wanted row has. Matches says which of them are wanted.
func (q *RequestQuery) Words() []string {
	var out []string
	add := func(of, what string) {
		if what != "" {
			out = append(out, of+cut(what, maxName))
		}
	}
	add("d:", q.Drill)
	add("k:", q.Key)
	add("r:", q.Route)
	add("c:", q.Code)
	if q.Kind != KindRequest && q.Kind != AnyKind {
		add("t:", q.Kind)
	}
	if q.Status >= 400 || q.Status >= 4 && q.Status < 10 {
		add("s:", strconv.Itoa(q.Status))
	}
	if q.Failed {
		add("m:", "failed")
	}
	if q.Rescued {
		add("m:", "rescued")
	}
	if q.Drilled {
		add("m:", "drill")
	}
	add("p:", q.Provider)
	add("u:", q.Model)
	return out
}
