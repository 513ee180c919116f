package drill_test

import (
	"testing"
	"time"

	"evergate/internal/drill"
	"evergate/internal/journal"
)

// R74: who answered decides what a request came to, not who was asked last: a hedge that met the fault may have been outrun (R71).
func TestOutcome(t *testing.T) {
	t.Parallel()
	step := func(id, reason string) journal.Step {
		return journal.Step{Drill: id, Reason: reason, Duration: time.Second}
	}
	for name, c := range map[string]struct {
		request journal.Request
		want    drill.Counts
		not     bool
	}{
		"rescued":                  {journal.Request{Status: 200, Trail: []journal.Step{step("d", "upstream"), step("", "ok")}}, drill.Counts{Requests: 1, Rescued: 1, AddedMS: 1000}, false},
		"late":                     {journal.Request{Status: 200, Trail: []journal.Step{step("d", "ok")}}, drill.Counts{Requests: 1, Answered: 1}, false},
		"its hedge was outrun":     {journal.Request{Status: 200, Trail: []journal.Step{step("", "ok"), step("d", "cancelled")}}, drill.Counts{Requests: 1, Rescued: 1, AddedMS: 1000}, false},
		"it outran its hedge":      {journal.Request{Status: 200, Trail: []journal.Step{step("d", "ok"), step("", "cancelled")}}, drill.Counts{Requests: 1, Answered: 1}, false},
		"failed":                   {journal.Request{Status: 502, Trail: []journal.Step{step("d", "upstream"), step("", "upstream")}}, drill.Counts{Requests: 1, Failed: 1}, false},
		"refused by the fault":     {journal.Request{Status: 400, Trail: []journal.Step{step("d", "rejected")}}, drill.Counts{Requests: 1, Failed: 1}, false},
		"the client's own doing":   {journal.Request{Status: 400, Trail: []journal.Step{step("d", "upstream"), step("", "rejected")}}, drill.Counts{Requests: 1}, false},
		"a stream that broke":      {journal.Request{Status: 200, Code: "provider_error", Trail: []journal.Step{step("d", "cut")}}, drill.Counts{Requests: 1, Failed: 1}, false},
		"the client left":          {journal.Request{Status: 499, Trail: []journal.Step{step("d", "client_gone")}}, drill.Counts{Requests: 1, Left: 1}, false},
		"another drill":            {journal.Request{Status: 200, Trail: []journal.Step{step("other", "ok")}}, drill.Counts{}, true},
		"passed over is not asked": {journal.Request{Status: 200, Trail: []journal.Step{{Drill: "d", Skipped: true}, step("", "ok")}}, drill.Counts{}, true},
	} {
		got, touched := drill.Outcome("d", &c.request)
		if got != c.want || touched == c.not {
			t.Errorf("%s: %+v %t, want %+v", name, got, touched, c.want)
		}
	}
}
