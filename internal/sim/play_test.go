package sim

import (
	"testing"
	"time"

	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

const (
	sec    = time.Second
	minute = time.Minute
)

// R1-R9, R15, R56: what an attempt comes to, and when, under each kind of weather. The provider needs 1 s to its first
// content and 10 s for the rest; the attempt begins at 100 s.
func TestScript(t *testing.T) {
	t.Parallel()
	began := 100 * sec
	limits := route.Timeouts{Attempt: minute, FirstChunk: 30 * sec, Idle: 20 * sec}
	outage := func(with With, from, to time.Duration) Weather {
		return Weather{Kind: Outage, With: with, Status: 503, From: from, To: to}
	}
	type want struct {
		class   fault.Class // Unknown: an answer
		content time.Duration
		end     time.Duration
		wait    time.Duration
	}
	tests := []struct {
		name    string
		weather []Weather
		plain   bool
		limits  route.Timeouts
		total   time.Duration // stream_total's end
		want    want
	}{
		{name: "fair", want: want{content: began + sec, end: began + 11*sec}},
		{name: "fair, plain", plain: true, want: want{content: began + 11*sec, end: began + 11*sec}},
		{name: "refused", weather: []Weather{outage(Refuse, 0, 200*sec)}, want: want{class: fault.Connect, end: began + refuseTime}},
		{name: "status", weather: []Weather{outage(Status, 0, 200*sec)}, want: want{class: fault.Upstream, end: began + errorTime}},
		{name: "over already", weather: []Weather{outage(Status, 0, 100*sec)}, want: want{content: began + sec, end: began + 11*sec}},
		{name: "hangs", weather: []Weather{outage(Hang, 0, 200*sec)}, want: want{class: fault.Timeout, end: began + 30*sec}},
		{name: "hangs, plain", plain: true, weather: []Weather{outage(Hang, 0, 200*sec)}, want: want{class: fault.Timeout, end: began + minute}},
		{name: "hangs without a limit", limits: route.Timeouts{Idle: sec}, weather: []Weather{outage(Hang, 0, 200*sec)}, want: want{class: fault.Reset, end: 200 * sec}},
		{name: "reset before content", weather: []Weather{outage(Refuse, 100*sec+sec/2, 200*sec)}, want: want{class: fault.Reset, end: began + sec/2}},
		{name: "cut after content", weather: []Weather{outage(Status, 105*sec, 200*sec)}, want: want{class: fault.Cut, content: began + sec, end: 105 * sec}},
		{name: "silent after content", weather: []Weather{outage(Hang, 105*sec, 200*sec)}, want: want{class: fault.Cut, content: began + sec, end: 125 * sec}},
		{name: "silent before content", weather: []Weather{outage(Hang, 100*sec+sec/2, 200*sec)}, want: want{class: fault.Timeout, end: began + 30*sec}},
		{name: "plain, reset on its way", plain: true, weather: []Weather{outage(Status, 105*sec, 200*sec)}, want: want{class: fault.Reset, end: 105 * sec}},
		{name: "an outage of another model", weather: []Weather{{Kind: Outage, Model: "other", To: 200 * sec}}, want: want{content: began + sec, end: began + 11*sec}},
		{name: "up between two flaps", weather: []Weather{{Kind: Flapping, Status: 502, Every: 30 * sec, Down: 5 * sec, To: 900 * sec}}, want: want{content: began + sec, end: began + 11*sec}},
		{name: "down in a flap", weather: []Weather{{Kind: Flapping, Status: 502, Every: 50 * sec, Down: 5 * sec, To: 900 * sec}}, want: want{class: fault.Upstream, end: began + errorTime}},
		{name: "the next flap comes", weather: []Weather{{Kind: Flapping, Status: 502, Every: 35 * sec, Down: 5 * sec, To: 900 * sec}}, want: want{class: fault.Cut, content: began + sec, end: 105 * sec}},
		{name: "slow", weather: []Weather{{Kind: Brownout, Latency: 2, To: 200 * sec}}, want: want{content: began + 2*sec, end: began + 22*sec}},
		{name: "too slow", weather: []Weather{{Kind: Brownout, Latency: 31, To: 200 * sec}}, want: want{class: fault.Timeout, end: began + 30*sec}},
		{name: "half way through a slow start", weather: []Weather{{Kind: SlowStart, Latency: 5, To: 200 * sec}}, want: want{content: began + 3*sec, end: began + 33*sec}},
		{name: "errors always", weather: []Weather{{Kind: Brownout, Errors: 1, Status: 529, To: 200 * sec}}, want: want{class: fault.Upstream, end: began + errorTime}},
		{name: "no room in the window", weather: []Weather{{Kind: RateLimit, Per: minute, Told: true, To: 200 * sec}}, want: want{class: fault.RateLimited, end: began + errorTime, wait: 20 * sec}},
		{name: "a limit of the model", weather: []Weather{{Kind: RateLimit, Per: minute, Model: "model", To: 200 * sec}}, want: want{class: fault.ModelLimited, end: began + errorTime}},
		{name: "no quota", weather: []Weather{{Kind: Quota, To: 200 * sec}}, want: want{class: fault.Quota, end: began + errorTime}},
		{name: "another key's limit", weather: []Weather{{Kind: RateLimit, Per: minute, Key: "k2", To: 200 * sec}}, want: want{content: began + sec, end: began + 11*sec}},
		{name: "key refused", weather: []Weather{{Kind: BadKey, Key: "k1", To: 200 * sec}}, want: want{class: fault.Auth, end: began + errorTime}},
		{name: "no such model", weather: []Weather{{Kind: ModelMissing, Model: "model", To: 200 * sec}}, want: want{class: fault.ModelMissing, end: began + errorTime}},
		{name: "an outage says when to come back", weather: []Weather{{Kind: Outage, Status: 503, Told: true, RetryAfter: 2 * sec, To: 200 * sec}}, want: want{class: fault.Upstream, end: began + errorTime, wait: 2 * sec}},
		{name: "stream_total", total: 103 * sec, want: want{class: fault.Cut, content: began + sec, end: 103 * sec}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &Scenario{Duration: 1000 * sec, Weather: tt.weather, Providers: []Provider{{Name: "p", FirstToken: Fixed(1e9), Speed: 10}}}
			g := &Guarded{Name: "p", Credentials: []resilience.Credential{{Name: "k1"}, {Name: "k2"}}}
			p := newProvider(s, g, func() float64 { return 0.5 })
			l := limits
			if tt.limits != (route.Timeouts{}) {
				l = tt.limits
			}
			got := p.play(asked{now: began, model: "model", stream: !tt.plain, tokens: 100, limits: l, streamEnd: tt.total})
			class, wait := fault.Unknown, time.Duration(0)
			if got.fault != nil {
				class, wait = got.fault.Class, got.fault.Wait.For
			}
			if (want{class, got.content, got.end, wait}) != tt.want {
				t.Errorf("%s, content %s, end %s, wait %s; want %+v", class, got.content, got.end, wait, tt.want)
			}
		})
	}
}

// A limit holds for each key and window, and a refused request uses nothing of it.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := newSky([]Weather{{Kind: RateLimit, Limit: 2, Per: minute}, {Kind: Quota, Key: "k2", Limit: 3}}, &Provider{Name: "p"}, []string{"k1", "k2"}, 1000*sec)
	answered := func(at time.Duration, key int) int {
		s.look(at)
		n := 0
		for range 10 {
			if s.refusal(at, key, "m") == nil {
				s.take(at, key, "m")
				n++
			}
		}
		return n
	}
	for i, want := range [][3]int{{0, 0, 2}, {30, 0, 0}, {30, 1, 2}, {59, 1, 0}, {60, 0, 2}, {60, 1, 1}, {120, 1, 0}, {180, 0, 2}} {
		if got := answered(time.Duration(want[0])*sec, want[1]); got != want[2] {
			t.Errorf("%d: at %d s key %d was answered %d times, want %d", i, want[0], want[1], got, want[2])
		}
	}
}

func TestHits(t *testing.T) {
	t.Parallel()
	p := &Provider{Name: "a", Tags: []string{"eu", "big"}}
	for _, tt := range []struct {
		w    Weather
		want bool
	}{
		{Weather{}, true},
		{Weather{Providers: []string{"b", "a"}}, true},
		{Weather{Providers: []string{"b"}}, false},
		{Weather{Tags: []string{"eu"}}, true},
		{Weather{Tags: []string{"us"}}, false},
		{Weather{Providers: []string{"b"}, Tags: []string{"big"}}, true},
	} {
		if got := tt.w.hits(p); got != tt.want {
			t.Errorf("%v %v: %t", tt.w.Providers, tt.w.Tags, got)
		}
	}
}
