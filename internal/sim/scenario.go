package sim

import (
	"time"

	"evergate/internal/resilience"
	"evergate/internal/route"
)

// Scenario is what is played: a gateway's settings, how its providers behave in fair weather, who asks, and the weather.
// Times of it count from its beginning. It is read only.
type Scenario struct {
	Name     string
	Duration time.Duration // no request begins after it; those under way are played to their end
	Step     time.Duration // width of a point of the report's series; 0: chosen by the duration
	Gateway  Gateway
	// Providers say how the gateway's providers behave; one that is not named behaves as DefaultProvider.
	Providers []Provider
	Traffic   []Traffic
	Weather   []Weather
}

// Work bounds from above how many requests the scenario has, but for those that clients make while they wait for nothing: a client
// counts as one request a second.
func (s *Scenario) Work() float64 {
	work := 0.0
	for i := range s.Traffic {
		work += (s.Traffic[i].Rate.most() + float64(s.Traffic[i].Clients)) * s.Duration.Seconds()
	}
	return work
}

// Gateway is what the simulation needs of a configuration.
type Gateway struct {
	Table     *route.Table
	Inventory *route.Inventory
	Providers []Guarded
}

// Guarded is a provider's guards, as configured.
type Guarded struct {
	Name        string
	Settings    resilience.Settings
	Strategy    resilience.KeyStrategy
	Credentials []resilience.Credential
}

// Provider is how an upstream behaves in fair weather.
type Provider struct {
	Name string
	Tags []string // for Weather.Tags, such as a region
	// FirstToken is the time to the first content of an answer, in nanoseconds.
	FirstToken Dist
	Speed      float64 // tokens a second after that
	Errors     float64 // share of requests answered with status 500
	Cuts       float64 // share of streams cut after their first content
}

// DefaultProvider is an upstream that nothing else is said of.
func DefaultProvider(name string) Provider {
	return Provider{Name: name, FirstToken: LogNormal(400e6, 1500e6), Speed: 80}
}

// Traffic are clients that ask for one model: Clients of them in a closed loop (each asks, waits for its answer, thinks and
// asks again), or an open stream of arrivals at a Rate.
type Traffic struct {
	Model    string
	Rate     Rate
	Clients  int
	Think    Dist          // between two requests of a client, in nanoseconds
	Streams  float64       // share of requests that stream
	Tokens   Dist          // length of an answer
	Patience time.Duration // a client hangs up after it (R13); 0: never
	From, To time.Duration // To 0: to the end
}

// Rate is a number of arrivals a second over time.
type Rate struct {
	Shape  RateShape
	Low    float64       // constant: the rate; ramp: at the beginning; day: the least, at its beginning
	High   float64       // ramp: at the end; day: the most, in its middle
	Period time.Duration // of a day
	Spikes []Spike
}

// RateShape is how a rate changes.
type RateShape uint8

// The shapes of a rate.
const (
	Constant RateShape = iota
	Ramp
	Day
)

// Spike multiplies a rate for a while.
type Spike struct {
	At, For time.Duration
	Times   float64
}

// Kind is a kind of weather.
type Kind uint8

// The kinds of weather.
const (
	Outage       Kind = iota // nobody is answered, as With says
	Flapping                 // an outage for Down out of every Every
	Brownout                 // a share of Errors, and latencies × Latency
	SlowStart                // latencies × Latency at its beginning, growing back to 1 at its end
	RateLimit                // each key is answered Limit times in each Per
	Quota                    // each key is answered Limit times in all
	BadKey                   // keys are refused
	ModelMissing             // 404
	Cuts                     // a share of Errors of the streams is cut after content
)

// With is what an outage looks like from outside.
type With uint8

// The looks of an outage. What is in flight when it begins is hit, too: connections are reset, or fall silent.
const (
	Status With = iota // Weather.Status
	Refuse             // connections are refused
	Hang               // connections are taken, and nothing comes
)

// Weather is something that befalls providers for a while.
type Weather struct {
	Kind      Kind
	Providers []string // by name
	Tags      []string // and all that have one of these; with neither: every provider
	Model     string   // upstream id; empty: every model
	Key       string   // name of a credential; empty: every one
	From, To  time.Duration
	With      With
	Status    int // of outages and errors
	Every     time.Duration
	Down      time.Duration
	Errors    float64
	Latency   float64
	Limit     int
	Per       time.Duration
	// Told: refusals carry a Retry-After, of RetryAfter, or if that is 0 of what is left of the window (RateLimit) or of
	// the weather.
	Told       bool
	RetryAfter time.Duration
}

// hits says whether a provider is meant.
func (w *Weather) hits(p *Provider) bool {
	if len(w.Providers) == 0 && len(w.Tags) == 0 {
		return true
	}
	for _, name := range w.Providers {
		if name == p.Name {
			return true
		}
	}
	for _, t := range w.Tags {
		for _, own := range p.Tags {
			if t == own {
				return true
			}
		}
	}
	return false
}

// String is the word of a scenario file.
func (k Kind) String() string {
	switch k {
	case Outage:
		return "outage"
	case Flapping:
		return "flapping"
	case Brownout:
		return "brownout"
	case SlowStart:
		return "slow_start"
	case RateLimit:
		return "rate_limit"
	case Quota:
		return "quota"
	case BadKey:
		return "bad_key"
	case ModelMissing:
		return "model_missing"
	case Cuts:
		return "cuts"
	}
	return ""
}
