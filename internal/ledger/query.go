package ledger

import (
	"strings"
	"time"
)

// MaxPage is how many rows one page has at most.
const MaxPage = 500

// MaxLooked is how many rows a store looks at for one page. A page that ends there has fewer rows than were asked for, perhaps none, and a Next.
const MaxLooked = 5000

// RequestQuery says which requests are wanted. An empty field wants any.
type RequestQuery struct {
	From, To time.Time // of the requests' ends; To is not in it
	Key      string
	Route    string
	// Provider and Model are of some attempt, not only of the one that answered.
	Provider, Model string
	Code            string
	// Status is one status, or a class of a hundred: 2 for 2xx.
	Status          int
	Failed, Rescued bool // as in Account
	Drill           string
	Drilled         bool   // any drill
	ID              string // the beginning of a request's id
	Text            string // in any of the row's words, without regard to case
	Kind            string // empty: KindRequest; AnyKind: all
	Cursor          Row    // that of the page before; rows older than it are wanted
	Limit           int    // 0 or more than MaxPage: MaxPage
}

// AnyKind is RequestQuery.Kind for rows of all kinds.
const AnyKind = "any"

// RequestPage is a page of requests, the one that ended last first. An empty Next says that there are no more.
type RequestPage struct {
	Requests []Request
	Next     Row
}

// Size is how many rows the page shall have.
func (q *RequestQuery) Size() int { return pageSize(q.Limit) }

func pageSize(limit int) int {
	if limit <= 0 || limit > MaxPage {
		return MaxPage
	}
	return limit
}

// Bounds are the rows between which the wanted ones are: from ≤ row < below. An empty below is no bound.
func (q *RequestQuery) Bounds() (from, below Row) { return bounds(q.From, q.To, q.Cursor) }

func bounds(from, to time.Time, cursor Row) (Row, Row) {
	var lower, below Row
	if !from.IsZero() {
		lower = RowsFrom(from)
	}
	if !to.IsZero() {
		below = RowsFrom(to)
	}
	if cursor != "" && (below == "" || cursor < below) {
		below = cursor
	}
	return lower, below
}

// Matches says whether a row is wanted. It is what every store's answer must agree with.
func (q *RequestQuery) Matches(r *Request) bool {
	from, below := q.Bounds()
	switch {
	case r.Row < from, below != "" && r.Row >= below:
	case q.Kind == "" && r.Kind != KindRequest, q.Kind != "" && q.Kind != AnyKind && q.Kind != r.Kind:
	case differs(q.Key, r.Key), differs(q.Route, r.Route), differs(q.Code, r.Code):
	case !q.hasStatus(r.Status):
	case q.Failed && !r.Account.Failed, q.Rescued && !r.Account.Rescued:
	case q.Drilled && r.Drill == "", q.Drill != "" && !r.drilledBy(q.Drill):
	case !strings.HasPrefix(r.ID, q.ID):
	case !q.touches(r):
	case q.Text != "" && !r.says(strings.ToLower(q.Text)):
	default:
		return true
	}
	return false
}

func differs(want, have string) bool { return want != "" && want != have }

func (q *RequestQuery) hasStatus(status int) bool {
	return q.Status == 0 || q.Status == status || q.Status < 10 && status/100 == q.Status
}

// touches says whether some attempt, or the answer, was of the wanted provider and model.
func (q *RequestQuery) touches(r *Request) bool {
	if q.Provider == "" && q.Model == "" {
		return true
	}
	is := func(provider, model string) bool { return !differs(q.Provider, provider) && !differs(q.Model, model) }
	for i := range r.Trail {
		if s := &r.Trail[i]; !s.Skipped && is(s.Provider, s.Model) {
			return true
		}
	}
	return r.Provider != "" && is(r.Provider, r.Model)
}

func (r *Request) drilledBy(rule string) bool {
	for i := range r.Trail {
		if r.Trail[i].Drill == rule {
			return true
		}
	}
	return false
}

// says looks for a text, in lower case, in the words of a row.
func (r *Request) says(text string) bool {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(strings.ToLower(w), text) {
				return true
			}
		}
		return false
	}
	if has(r.ID, r.Key, r.Asked, r.Route, r.Provider, r.Model, r.Code, r.UpstreamRequestID) {
		return true
	}
	for i := range r.Trail {
		if s := &r.Trail[i]; has(s.Provider, s.Model, s.Reason, s.Message) {
			return true
		}
	}
	return false
}

// TimelineQuery says which entries are wanted. An empty field wants any.
type TimelineQuery struct {
	From, To  time.Time // To is not in it
	Kinds     []string
	Provider  string
	RequestID string
	Cursor    Row
	Limit     int // as in RequestQuery
}

// TimelinePage is a page of entries, the newest first. An empty Next says that there are no more.
type TimelinePage struct {
	Entries []Entry
	Next    Row
}

// Size is how many entries the page shall have.
func (q *TimelineQuery) Size() int { return pageSize(q.Limit) }

// Bounds are as those of RequestQuery.
func (q *TimelineQuery) Bounds() (from, below Row) { return bounds(q.From, q.To, q.Cursor) }

// Matches says whether an entry is wanted. It is what every store's answer must agree with.
func (q *TimelineQuery) Matches(e *Entry) bool {
	from, below := q.Bounds()
	if e.Row < from || below != "" && e.Row >= below || differs(q.Provider, e.Provider) || differs(q.RequestID, e.RequestID) {
		return false
	}
	for _, k := range q.Kinds {
		if k == e.Kind {
			return true
		}
	}
	return len(q.Kinds) == 0
}

// Step is how long a bucket of sums is.
type Step uint8

// The steps. Whole is one bucket for all of the time that is asked for.
const (
	Whole Step = iota
	Minute
	Hour
)

// Of is the beginning of the bucket that a time is in.
func (s Step) Of(at time.Time) time.Time {
	switch s {
	case Minute:
		return at.UTC().Truncate(time.Minute)
	case Hour:
		return at.UTC().Truncate(time.Hour)
	case Whole:
	}
	return time.Time{}
}

// UsageQuery says which sums are wanted. From and To are widened to whole buckets: minutes where they are still kept, else hours.
type UsageQuery struct {
	From, To time.Time // zero: the beginning, and the end; To's own bucket is not in it, unless it ends within
	// ByKey and so on: the rows are told apart by it. All false: one row for all.
	ByKey, ByRoute, ByModel, ByProvider bool
	Step                                Step
	// Key, Route, Model and Provider: only these; empty: any.
	Key, Route, Model, Provider string
	// Drill is only the requests that a fault rule had its way with; the answer is from the rows that are still kept, the newest MaxDrilled at most.
	Drill string
}

// MaxDrilled is how many rows of a drill are summed.
const MaxDrilled = 20_000

// UsageRow is the sums of a group. At is the beginning of its bucket; zero with Whole.
type UsageRow struct {
	At time.Time
	Group
	Sums
}

// Buckets says whose buckets answer the query, and between which of their beginnings: from ≤ bucket < below; a zero time is no bound.
func (q *UsageQuery) Buckets(now time.Time) (of Step, from, below time.Time) {
	of = q.Step
	if of == Whole {
		of = Hour
		if !q.From.IsZero() && now.Sub(q.From) < KeepMinutes-time.Hour {
			of = Minute
		}
	}
	if !q.From.IsZero() {
		from = of.Of(q.From)
	}
	if !q.To.IsZero() {
		if below = of.Of(q.To); below.Before(q.To) {
			below = below.Add(of.length())
		}
	}
	return of, from, below
}

func (s Step) length() time.Duration {
	if s == Minute {
		return time.Minute
	}
	return time.Hour
}

// RoutesOnly says whether sums by route alone answer the query, too: they are a fraction of all, and what an overview of a day asks for.
func (q *UsageQuery) RoutesOnly() bool {
	return q.Drill == "" && q.Key == "" && q.Model == "" && q.Provider == "" && !q.ByKey && !q.ByModel && !q.ByProvider
}

// Wants says whether a group is wanted.
func (q *UsageQuery) Wants(g Group) bool {
	return !differs(q.Key, g.Key) && !differs(q.Route, g.Route) && !differs(q.Model, g.Model) && !differs(q.Provider, g.Provider)
}

// Of is the group that the sums of g belong to in the answer.
func (q *UsageQuery) Of(g Group) Group {
	if !q.ByKey {
		g.Key = ""
	}
	if !q.ByRoute {
		g.Route = ""
	}
	if !q.ByModel {
		g.Model = ""
	}
	if !q.ByProvider {
		g.Provider = ""
	}
	return g
}
