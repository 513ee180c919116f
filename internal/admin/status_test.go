package admin

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"evergate/internal/drill"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func in(d time.Duration) Time { return Time(noon.Add(d)) }

// outage is a gateway with one of everything that can be wrong.
func outage() Health {
	closed := Breaker{State: "closed"}
	return Health{
		Instance: "a1",
		Providers: map[string]Provider{
			"openai": {
				Status: "healthy", LastChecked: in(-12*time.Minute - 3*time.Second), InFlight: 3,
				Latency: Latency{FirstContent: 412, Total: 2210},
				Breaker: Breaker{State: "closed", FailuresTotal: 7},
				Credentials: map[string]Credential{
					"default": {State: "ok"},
					"batch":   {State: "cooldown", Level: 2, CooldownUntil: in(3600*time.Millisecond + 1), Reason: "rate_limited"},
				},
				Lockouts: []Lockout{
					{Model: "gpt-x", Until: in(59*time.Minute + time.Second), Reason: "model_not_found", Level: 1},
					{Model: "o9", Credential: "batch", Until: in(time.Hour), Reason: "model_limited", Level: 3},
				},
			},
			"groq": {
				Status: "degraded", LastChecked: in(-time.Second), Message: "status 503: overloaded\x1b[2J", Stale: true,
				Breaker: Breaker{
					State: "open", Trip: "failures", ConsecutiveFailures: 5, FailuresTotal: 5, OpenedAt: in(-18 * time.Second),
					RetryAt: in(11500 * time.Millisecond),
				},
				Credentials: map[string]Credential{"default": {State: "cooldown", CooldownUntil: in(time.Hour), Reason: "quota_exhausted"}},
			},
			"local": {
				Status: "unhealthy", Message: "connect", Breaker: Breaker{State: "half_open", ConsecutiveFailures: 2, FailuresTotal: 44},
				Breakers: map[string]Breaker{
					"m1": closed, "m2": {State: "open", Trip: "cooldown", RetryAt: in(2 * time.Minute)},
				},
				Credentials: map[string]Credential{"default": {State: "ok"}},
			},
			"müller": {Status: "healthy", LastChecked: in(-2 * time.Hour), Breaker: closed, Credentials: map[string]Credential{ // R32
				"down": {State: "ok", Token: &Token{State: "open", Failures: 3, RetryAt: in(4 * time.Second)}},
				"due":  {State: "ok", Token: &Token{State: "half_open", Failures: 1}},
				"good": {State: "ok", Token: &Token{State: "closed"}},
			}},
			"held": {
				Status: "healthy", Breaker: Breaker{State: "closed", Trip: "operator", ConsecutiveFailures: 9, FailuresTotal: 9, Operator: &Operator{Action: "close", Reason: "their status page says it is fine"}},
				Breakers: map[string]Breaker{
					"m1": {State: "open", Trip: "operator", RetryAt: in(2 * time.Minute), Operator: &Operator{Action: "open", Reason: "maintenance\x1b[2J", Until: in(2 * time.Minute)}},
				},
			},
			"back": {Status: "healthy", Breaker: Breaker{State: "closed", RampUntil: in(time.Minute)}},
			"old":  {Status: "unhealthy", Disabled: true, Message: "disabled", Breaker: closed},
		},
		Instances: []Instance{
			{ID: "a1", Self: true, Version: "v1.2.0", Started: in(-26 * time.Hour), LastSeen: in(0)},
			{
				ID: "b2", Version: "v1.1.9", Started: in(-90 * time.Second), LastSeen: in(-5 * time.Second), LagMS: 120,
				Believes: map[string][]Belief{"groq": {{Guard: "circuit_breaker"}}, "openai": {{Guard: "credential_cooldown"}, {Guard: "model_lockout"}}},
			},
			{ID: "c3", Version: "v1.2.0", Started: in(-time.Hour), LastSeen: in(-time.Minute), LagMS: 60000, Silent: true},
			{ID: "d4", Version: "v1.2.0", Started: in(-time.Hour), LastSeen: in(-time.Minute), LagMS: 60000, Silent: true, Left: true},
		},
		State: State{Store: "redis", Address: "redis://***@store:6379/0", Reached: true, LastSync: in(-2 * time.Second)},
		Drills: []Fault{
			{ID: "drill_1", Provider: "groq", Model: "m", Share: 0.5, Shape: drill.Shape{Kind: drill.Status, Status: 503}, Until: in(9 * time.Minute), Counts: drill.Counts{Injected: 12}, Reason: "rehearsal\x1b[2J"},
			{ID: "drill_2", Share: 1, Shape: drill.Shape{Kind: drill.Cut, After: 3, Latency: time.Second}, Header: &drill.Header{Name: "x-team"}, Until: in(time.Hour), Counts: drill.Counts{Injected: 1}, Reason: "cuts"},
		},
	}
}

func render(t *testing.T, h Health, color bool) string {
	t.Helper()
	var out strings.Builder
	if err := RenderStatus(&out, h, noon, color); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRenderStatus(t *testing.T) {
	t.Parallel()
	golden(t, "status.txt", render(t, outage(), false))
	golden(t, "status_healthy.txt", render(t, Health{
		Instance:  "a1",
		Providers: map[string]Provider{"openai": {Status: "healthy", LastChecked: in(0), Breaker: Breaker{State: "closed"}, Credentials: map[string]Credential{"default": {State: "ok"}}}},
		Instances: []Instance{{ID: "a1", Self: true}},
		State:     State{Store: "sqlite", Address: "sqlite:evergate.db", Message: "the disk is full"},
	}, false))
	golden(t, "status_empty.txt", render(t, Health{Instance: "a1"}, false))
}

func TestRenderStatusInColorIsTheSameText(t *testing.T) {
	t.Parallel()
	colored := render(t, outage(), true)
	if !strings.Contains(colored, "\x1b[31mopen (failures), probe in 12s\x1b[0m") || !strings.Contains(colored, "\x1b[32mhealthy\x1b[0m") {
		t.Errorf("colors are missing:\n%q", colored)
	}
	bare := regexp.MustCompile(`\x1b\[[0-9]*m`).ReplaceAllString(colored, "")
	equal(t, "without colors", bare, render(t, outage(), false))
}

func TestRenderStatusPrintsNoControlCharacters(t *testing.T) {
	t.Parallel()
	h := outage()
	p := h.Providers["groq"]
	p.Message, p.Status = "a\nb\u202ec\x9b", "x\ty"
	p.Lockouts = []Lockout{{Model: "m\r\n", Credential: "\x00", Reason: "\x07"}}
	h.Providers["groq"], h.Instance = p, "i\n"
	for _, r := range render(t, h, false) {
		if r != '\n' && (r < ' ' || r == 0x7f || r == 0x202e || r == 0x9b) {
			t.Errorf("%U", r)
		}
	}
	equal(t, "lines", strings.Count(render(t, h, false), "\n"), strings.Count(render(t, outage(), false), "\n")+1)
}

func TestRenderStatusGivesTheWriteError(t *testing.T) {
	t.Parallel()
	want := errors.New("closed")
	if err := RenderStatus(failingWriter{want}, outage(), noon, false); !errors.Is(err, want) {
		t.Error(err)
	}
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

func TestDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 60 * time.Second: "1m", 70 * time.Second: "1m10s", time.Hour: "1h", time.Hour + 30*time.Second: "1h",
		time.Hour + time.Minute: "1h1m", 25 * time.Hour: "25h",
	} {
		equal(t, d.String(), short(d), want)
	}
	for d, want := range map[time.Duration]string{-1: "now", 0: "now", 1: "1s", time.Second: "1s", time.Second + 1: "2s"} {
		equal(t, d.String(), left(in(d), noon), want)
	}
	equal(t, "no time", left(Time{}, noon), "-")
}
