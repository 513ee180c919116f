package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// move is a line of the log that says that a guard moved.
type move struct {
	Msg, Guard, Provider, Credential, To string
	Time                                 time.Time
	Heard                                bool
}

// from is what was said since so many bytes had been.
func (o *output) from(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.buf.Bytes()[n:])
}

func (o *output) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Len()
}

// moved waits until the log, from a place on, says that a provider's guard came to a state, and gives that line.
func (g *gateway) moved(t *testing.T, from int, guard, provider, to string) (m move) {
	t.Helper()
	eventually(t, 20*time.Second, func() error {
		for line := range strings.Lines(g.out.from(from)) {
			if !strings.Contains(line, `"msg":"guard"`) {
				continue
			}
			m = move{}
			if json.Unmarshal([]byte(line), &m) == nil && m.Guard == guard && m.Provider == provider && m.To == to {
				return nil
			}
		}
		return fmt.Errorf("%s does not say that the %s of %s is %s", g.url, guard, provider, to)
	})
	return m
}
