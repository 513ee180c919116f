package sim

import "time"

// Milliseconds is a duration as it stands in a report.
type Milliseconds float64

func ms(d time.Duration) Milliseconds {
	return Milliseconds(d.Round(100*time.Microsecond).Microseconds()) / 1000
}

// Duration gives it back.
func (m Milliseconds) Duration() time.Duration { return time.Duration(float64(m) * 1e6) }

// Report is what came of a scenario. All times count from its beginning.
type Report struct {
	Name     string         `json:"name"`
	Seed     uint64         `json:"seed"` // for the caller to fill in
	Duration Milliseconds   `json:"duration_ms"`
	Step     Milliseconds   `json:"step_ms"` // of Series
	Overall  Sums           `json:"overall"`
	Models   []Sums         `json:"models"`
	Worst    Minute         `json:"worst_minute"`
	Provider []ProviderSums `json:"providers"`
	Weather  []Band         `json:"weather"`
	Guards   []Transition   `json:"guards"`
	// GuardsLeftOut counts transitions beyond the first 20,000.
	GuardsLeftOut int     `json:"guards_left_out,omitempty"`
	Series        []Point `json:"series"`
}

// Sums are requests of one model, or of all.
type Sums struct {
	Model    string `json:"model,omitempty"`
	Requests int    `json:"requests"`
	Answered int    `json:"answered"`
	Cut      int    `json:"cut"` // streams, after content (R15)
	Left     int    `json:"left"`
	Failed   int    `json:"failed"`
	// Missed: failed although a candidate was healthy when they came and when they ended.
	Missed int `json:"missed"`
	// Availability is the share of the requests whose client did not leave that were answered whole.
	Availability float64 `json:"availability"`
	// BestAchievable is the share for which a healthy candidate existed.
	BestAchievable float64 `json:"best_achievable"`
	Latency        Spread  `json:"latency_ms"`       // of answers, whole
	FirstContent   Spread  `json:"first_content_ms"` // of streams
	Attempts       int     `json:"attempts"`
	PerRequest     float64 `json:"attempts_per_request"`
	// Rescued were answered after an attempt of theirs had failed, or by a hedge.
	Rescued   int          `json:"rescued"`
	Hedges    int          `json:"hedges"` // that were started (R71)
	HedgesWon int          `json:"hedges_won"`
	Retries   int          `json:"retries"` // what drew on the retry budget (R53)
	Waits     int          `json:"waits"`
	Waited    Milliseconds `json:"waited_ms"`
	Endings   []Count      `json:"endings"`
}

// Spread is a distribution in short.
type Spread struct {
	P50 Milliseconds `json:"p50"`
	P95 Milliseconds `json:"p95"`
	P99 Milliseconds `json:"p99"`
}

// Count is how often something came.
type Count struct {
	What string `json:"what"`
	N    int    `json:"n"`
}

// Minute is one minute's traffic.
type Minute struct {
	At       Milliseconds `json:"at_ms"`
	Requests int          `json:"requests"`
	Attempts int          `json:"attempts"`
	Ratio    float64      `json:"ratio"`
}

// ProviderSums are one provider's attempts.
type ProviderSums struct {
	Name     string  `json:"name"`
	Attempts int     `json:"attempts"`
	Answers  int     `json:"answers"`
	Failures []Count `json:"failures"` // by class
	MostOpen int     `json:"most_in_flight"`
	Opened   int     `json:"breaker_opened"`
	Rested   int     `json:"keys_rested"`
	Locked   int     `json:"models_locked"`
}

// Transition is one change of a guard.
type Transition struct {
	At         Milliseconds `json:"at_ms"`
	Provider   string       `json:"provider"`
	Guard      string       `json:"guard"`
	Credential string       `json:"credential,omitempty"`
	Model      string       `json:"model,omitempty"`
	From       string       `json:"from"`
	To         string       `json:"to"`
	Trip       string       `json:"trip,omitempty"`
	Reason     string       `json:"reason,omitempty"`
	Until      Milliseconds `json:"until_ms,omitempty"`
	// InFlight is how many attempts were under way at the provider.
	InFlight int `json:"in_flight"`
}

// Band is a Weather, for the charts.
type Band struct {
	Kind      string       `json:"kind"`
	Providers []string     `json:"providers"`
	Model     string       `json:"model,omitempty"`
	Key       string       `json:"key,omitempty"`
	From      Milliseconds `json:"from_ms"`
	To        Milliseconds `json:"to_ms"`
}

// Point is one step of the scenario. Requests and what became of them count where they began, attempts where they did.
type Point struct {
	At         Milliseconds `json:"at_ms"`
	Requests   int          `json:"requests"`
	Answered   int          `json:"answered"`
	Cut        int          `json:"cut"`
	Failed     int          `json:"failed"`
	Missed     int          `json:"missed"`
	Attempts   int          `json:"attempts"`
	Retries    int          `json:"retries"`
	P50        Milliseconds `json:"p50_ms"`
	P95        Milliseconds `json:"p95_ms"`
	ByProvider []Tries      `json:"by_provider"` // in the order of Report.Provider
	latency    histogram
}

// Tries are one provider's attempts in a step.
type Tries struct {
	Attempts int `json:"attempts"`
	Failures int `json:"failures"`
}

// Availability is the share of a step's requests that were answered whole; 1 if there were none.
func (p *Point) Availability() float64 {
	if n := p.Answered + p.Cut + p.Failed; n > 0 {
		return float64(p.Answered) / float64(n)
	}
	return 1
}
