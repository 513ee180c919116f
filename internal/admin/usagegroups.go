package admin

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"evergate/internal/ledger"
)

// labelWord is what a word of group_by begins with that names a label.
const labelWord = "label:"

// maxLabels is by how many labels usage is grouped at once.
const maxLabels = 4

// grouping is how the rows of usage are told apart, beyond what the ledger's store tells apart itself.
type grouping struct {
	key, route, model, provider, owner, team bool
	labels                                   []string
	current                                  bool // what it would cost now is told, too
	days                                     bool // hours are put together to days of UTC
}

// grouping reads group_by and prices.
func (p *params) grouping() (g grouping) {
	plain := map[string]*bool{"key": &g.key, "route": &g.route, "model": &g.model, "provider": &g.provider, "owner": &g.owner, "team": &g.team}
	if v := p.text("group_by"); v != "" {
		words := strings.Split(v, ",")
		for i, w := range words {
			name, label := strings.CutPrefix(w, labelWord)
			switch {
			case slices.Contains(words[:i], w):
				p.mistake("group_by", "group_by has %s twice", w)
			case label && name == "":
				p.mistake("group_by", "label: has no name; write label:NAME")
			case label && len(g.labels) == maxLabels:
				p.mistake("group_by", "group_by may have at most %d labels", maxLabels)
			case label:
				g.labels = append(g.labels, name)
			case plain[w] != nil:
				*plain[w] = true
			default:
				known := []string{"key", "route", "model", "provider", "owner", "team", "label:NAME"}
				p.mistake("group_by", "%s; group_by may have %s", unknown("word", w, known), strings.Join(known, ", "))
			}
		}
	}
	g.current = p.choice("prices", "booked", "current") == "current"
	return g
}

// ask has the query tell apart what the grouping needs.
func (g *grouping) ask(q *ledger.UsageQuery) {
	q.ByKey = g.key || g.words()
	q.ByRoute = g.route
	q.ByModel, q.ByProvider = g.model || g.current, g.provider || g.current
}

// words says whether something that is said of keys is asked for.
func (g *grouping) words() bool { return g.owner || g.team || len(g.labels) > 0 }

// usageGroup is what the rows of one group come to.
type usageGroup struct {
	order  []string
	sums   ledger.Sums
	row    ledger.UsageRow // its first
	said   KeyWords
	now    int64 // what it would cost by today's prices
	nowNot int64 // tokens whose price is not known today
}

// gather puts the rows of the ledger's store together as the grouping wants them, in the order of time and then of the groups.
func (g *grouping) gather(s *UsageSources, rows []ledger.UsageRow) []*usageGroup {
	by := map[string]*usageGroup{}
	said := map[string]KeyWords{}
	var all []*usageGroup
	for i := range rows {
		row := &rows[i]
		if g.days {
			row.At = row.At.UTC().Truncate(24 * time.Hour)
		}
		var words KeyWords
		if g.words() && s.Words != nil && row.Key != "" {
			known := false
			if words, known = said[row.Key]; !known {
				words = s.Words(row.Key)
				said[row.Key] = words
			}
		}
		order := g.place(row, &words)
		id := strings.Join(order, "\x00")
		u := by[id]
		if u == nil {
			u = &usageGroup{order: order, row: *row, said: words}
			by[id] = u
			all = append(all, u)
		}
		u.sums.Add(&row.Sums)
		if g.current {
			u.price(s, row)
		}
	}
	slices.SortFunc(all, func(a, b *usageGroup) int {
		return cmp.Or(a.row.At.Compare(b.row.At), slices.Compare(a.order, b.order))
	})
	return all
}

// place is what tells a row's group from all others, in the order of its words. A label that a key has not is told from one that is empty.
func (g *grouping) place(row *ledger.UsageRow, said *KeyWords) []string {
	order := []string{row.At.Format("2006-01-02T15:04:05Z")}
	add := func(when bool, word string) {
		if when {
			order = append(order, word)
		}
	}
	add(g.owner, said.Owner)
	add(g.team, said.Team)
	for _, name := range g.labels {
		v, has := said.Labels[name]
		if has {
			v = "=" + v
		}
		add(true, v)
	}
	add(g.key, row.Key)
	add(g.route, row.Route)
	add(g.model, row.Model)
	add(g.provider, row.Provider)
	return order
}

// price adds what a row's tokens would cost now.
func (u *usageGroup) price(s *UsageSources, row *ledger.UsageRow) {
	tokens := PricedTokens{Input: row.Input, CachedInput: row.CachedInput, CacheWrite: row.CacheWrite, Output: row.Output}
	if tokens == (PricedTokens{}) {
		return
	}
	if s.Price != nil {
		if nano, known := s.Price(row.Provider, row.Group.Model, tokens); known {
			u.now += nano
			return
		}
	}
	u.nowNot += row.Input + row.Output
}

// shown is a group as the reply has it.
func (g *grouping) shown(u *usageGroup, step ledger.Step) usageRow {
	out := newUsageRow(&u.sums)
	if step != ledger.Whole {
		at := Time(u.row.At)
		out.At = &at
	}
	some := func(when bool, word *string) *string {
		if when {
			return word
		}
		return nil
	}
	out.Key, out.Route = some(g.key, &u.row.Key), some(g.route, &u.row.Route)
	out.Model, out.Provider = some(g.model, &u.row.Group.Model), some(g.provider, &u.row.Provider)
	out.Owner, out.Team = some(g.owner, &u.said.Owner), some(g.team, &u.said.Team)
	if len(g.labels) > 0 {
		out.Labels = map[string]*string{}
		for _, name := range g.labels {
			out.Labels[name] = nil
			if v, has := u.said.Labels[name]; has {
				out.Labels[name] = &v
			}
		}
	}
	if g.current {
		now := usd(u.now)
		out.Current, out.CurrentUnpriced = &now, &u.nowNot
	}
	return out
}
