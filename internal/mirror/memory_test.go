package mirror

import (
	"fmt"
	"strings"
	"testing"

	"evergate/internal/journal"
)

// R72: the last 100 copies are remembered, but for those that there was no room for; of two for one id the later one.
func TestTheLastCopies(t *testing.T) {
	var m Memory
	if _, ok := m.Of(""); ok {
		t.Error("there is a copy of no request")
	}
	for i := range 250 {
		outcome := "ok"
		if i%2 == 1 {
			outcome = "dropped"
		}
		m.MirrorEnded(&journal.Mirror{RequestID: fmt.Sprint("req_", i), Outcome: outcome, Message: strings.Repeat("x", 2*maxMessage)})
	}
	m.MirrorEnded(&journal.Mirror{RequestID: "req_100", Outcome: "late"})
	for i, want := range map[int]string{0: "", 50: "", 52: "ok", 99: "", 100: "late", 248: "ok", 249: ""} {
		f, ok := m.Of(fmt.Sprint("req_", i))
		if ok != (want != "") || f.Outcome != want || len(f.Message) > maxMessage+len("...") {
			t.Errorf("%d: %t %q, want %q; %d bytes of words", i, ok, f.Outcome, want, len(f.Message))
		}
	}
}
