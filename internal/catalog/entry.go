package catalog

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"evergate/internal/fault"
	"evergate/internal/journal"
	"evergate/internal/route"
)

// Bounds of what a provider may make the gateway remember (and show as metric labels).
const (
	maxModels  = 10_000 // ids of one provider
	maxModelID = 200    // bytes of an id; longer ones are left out
	maxMessage = 200    // bytes of a message
)

// entry is what is known of one source. Its owner, the catalog, locks it.
type entry struct {
	source     Source
	configured []string // sorted
	generation int      // counts Apply, to know a fetch that an older configuration started
	gone       bool     // an Apply dropped it; a fetch under way is for nothing

	known    []string // what the last good fetch listed, sorted
	listed   bool     // some fetch was good
	failed   bool     // the latest was not
	message  string   // why
	checked  time.Time
	due      time.Time // when to ask again; zero: never
	asap     bool      // a request has a reason to ask at once
	fetching bool
	reported route.Status // the last status the journal heard; empty: none
}

func (e *entry) apply(s Source) {
	e.source = s
	e.configured = sorted(s.Configured)
	e.generation++
	e.gone = false
}

// asks says whether the source is one to fetch from.
func (e *entry) asks() bool { return e.source.Fetch != nil && !e.source.Disabled }

// next is when the source is to be asked; ok is false for never, or while it is being asked.
func (e *entry) next(now time.Time) (at time.Time, ok bool) {
	switch {
	case !e.asks() || e.fetching:
		return time.Time{}, false
	case e.asap || e.checked.IsZero():
		return now, true
	}
	return e.due, !e.due.IsZero()
}

// settle takes the outcome of a fetch.
func (e *entry) settle(now time.Time, models []string, f *fault.Fault) {
	e.checked = now
	switch {
	case f == nil:
		e.known, e.listed = listed(models), true
		e.failed, e.message = false, ""
	case routeMissing(f.Status) && len(e.configured) > 0: // it answered, and nobody needs its list
		e.failed, e.message = false, ""
	default: // the last inventory stays
		e.failed, e.message = true, words(f)
	}
}

// models are the ids that count.
func (e *entry) models() []string {
	if len(e.configured) > 0 {
		return e.configured
	}
	return e.known
}

// status is the discovery status and the words for it. Before the first look configured models are taken on trust.
func (e *entry) status() (route.Status, string) {
	inventory := e.listed || len(e.configured) > 0
	switch {
	case e.source.Disabled:
		return route.Unhealthy, "disabled"
	case e.failed && inventory:
		return route.Degraded, e.message
	case e.failed:
		return route.Unhealthy, e.message
	case inventory:
		return route.Healthy, ""
	case e.source.Fetch == nil:
		return route.Unhealthy, "no models configured, and no model list to ask for"
	}
	return route.Unhealthy, "not checked yet"
}

// discovered says whether the source's models are those that it lists.
func (e *entry) discovered() bool { return e.asks() && len(e.configured) == 0 }

// outstanding says whether a look may still bring models: it is under way, or was never made.
func (e *entry) outstanding() bool {
	return e.discovered() && (e.fetching || e.asap || e.checked.IsZero())
}

// demand makes a source due that a request has a reason to ask; false: it is being asked, or was just now.
func (e *entry) demand(now time.Time) bool {
	if !e.discovered() || e.fetching || e.asap || now.Sub(e.checked) < demandGap {
		return false
	}
	e.asap = true
	return true
}

// report gives the fact of a changed status, or nil. The first look is one too, from an empty status.
func (e *entry) report(now time.Time) *journal.Discovery {
	if e.source.Disabled || e.checked.IsZero() {
		return nil
	}
	status, message := e.status()
	if status == e.reported {
		return nil
	}
	d := &journal.Discovery{
		At: now, Provider: e.source.Name, From: string(e.reported), To: string(status), Models: len(e.models()),
		Message: message,
	}
	e.reported = status
	return d
}

// inventory makes the snapshot of all entries.
func inventory(entries []*entry) *route.Inventory {
	inv := &route.Inventory{ByModel: make(map[string][]string), Providers: make([]route.ProviderModels, len(entries))}
	for i, e := range entries {
		status, message := e.status()
		models := e.models()
		inv.Providers[i] = route.ProviderModels{
			Name: e.source.Name, Models: models, Disabled: e.source.Disabled, Status: status, LastChecked: e.checked,
			Stale: e.failed && e.listed && len(e.configured) == 0, Message: message,
		}
		inv.AnyStale = inv.AnyStale || inv.Providers[i].Stale && !e.source.Disabled
		if e.source.Disabled {
			continue
		}
		for _, m := range models {
			inv.ByModel[m] = append(inv.ByModel[m], e.source.Name)
		}
	}
	return inv
}

// routeMissing says that the provider answered but has no model list.
func routeMissing(status int) bool {
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}

// words are the public words of a failed fetch: never its cause, which may hold addresses.
func words(f *fault.Fault) string {
	s := f.Class.String()
	if f.Status != 0 {
		s = "status " + strconv.Itoa(f.Status)
	}
	if f.Message != "" {
		s += ": " + f.Message
	}
	s = strings.Map(func(r rune) rune {
		if unprintable(r) {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "")
	}
	return s
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// listed takes what a provider listed: sorted, each once, without what cannot be a model id.
func listed(models []string) []string {
	out := make([]string, 0, min(len(models), maxModels))
	for _, m := range models {
		if len(m) <= maxModelID && utf8.ValidString(m) && !strings.ContainsFunc(m, unprintable) {
			out = append(out, m)
		}
	}
	out = sorted(out)
	return out[:min(len(out), maxModels)]
}

// sorted copies, sorts and compacts; empty ids are left out.
func sorted(models []string) []string {
	if len(models) == 0 {
		return nil
	}
	out := slices.Clone(models)
	slices.Sort(out)
	out = slices.Compact(out)
	if out[0] == "" {
		out = out[1:]
	}
	return out
}
