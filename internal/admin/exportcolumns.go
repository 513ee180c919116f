package admin

import (
	"encoding/json"
	"time"

	"evergate/internal/journal"
	"evergate/internal/ledger"
	"evergate/internal/parquet"
)

// KeyWords are what is said of a caller's key, also of one that is revoked.
type KeyWords struct {
	Owner, Team string
	Labels      map[string]string
}

// exported is a row of an export: a request, or one of its attempts.
type exported struct {
	*ledger.Request
	words  KeyWords
	sums   ledger.Sums   // of what it is a row of
	step   *journal.Step // the attempt; nil: it is a request
	number int           // of the attempt, from 1
}

// datum is a value of an export, by the kind of its column.
type datum struct {
	text string
	n    int64
	at   time.Time
	yes  bool
	none bool
}

// exportColumn is a column of an export.
type exportColumn struct {
	parquet.Column
	value func(*exported) datum
}

func textColumn(name string, of func(*exported) string) exportColumn {
	return exportColumn{parquet.Column{Name: name, Kind: parquet.Text}, func(e *exported) datum { return datum{text: of(e)} }}
}

func intColumn(name string, of func(*exported) int64) exportColumn {
	return exportColumn{parquet.Column{Name: name, Kind: parquet.Int}, func(e *exported) datum { return datum{n: of(e)} }}
}

func boolColumn(name string, of func(*exported) bool) exportColumn {
	return exportColumn{parquet.Column{Name: name, Kind: parquet.Bool}, func(e *exported) datum { return datum{yes: of(e)} }}
}

func timeColumn(name string, of func(*exported) time.Time) exportColumn {
	return exportColumn{parquet.Column{Name: name, Kind: parquet.Instant}, func(e *exported) datum { return datum{at: of(e)} }}
}

// measuredColumn is of microseconds; none where nothing was measured.
func measuredColumn(name string, of func(*exported) time.Duration) exportColumn {
	return exportColumn{parquet.Column{Name: name, Kind: parquet.Int, Optional: true}, func(e *exported) datum {
		d := of(e)
		return datum{n: d.Microseconds(), none: d <= 0}
	}}
}

// whoColumns are what all exports begin with.
func whoColumns() []exportColumn {
	return []exportColumn{
		timeColumn("at", func(e *exported) time.Time { return e.End() }),
		textColumn("row", func(e *exported) string { return string(e.Row) }),
		textColumn("request_id", func(e *exported) string { return e.ID }),
		textColumn("instance", func(e *exported) string { return e.Instance }),
		textColumn("kind", func(e *exported) string { return e.Kind }),
		textColumn("key", func(e *exported) string { return e.Key }),
		textColumn("owner", func(e *exported) string { return e.words.Owner }),
		textColumn("team", func(e *exported) string { return e.words.Team }),
		textColumn("labels", func(e *exported) string { return labelText(e.words.Labels) }),
		textColumn("dialect", func(e *exported) string { return e.Dialect }),
		boolColumn("stream", func(e *exported) bool { return e.Stream }),
		textColumn("asked", func(e *exported) string { return e.Asked }),
		textColumn("route", func(e *exported) string { return e.Route }),
	}
}

// labelText is labels as a JSON object.
func labelText(labels map[string]string) string {
	if len(labels) == 0 {
		return "{}"
	}
	text, _ := json.Marshal(labels) // texts alone
	return string(text)
}

// tokenColumns are what was used, as the sums count it.
func tokenColumns() []exportColumn {
	return []exportColumn{
		intColumn("input_tokens", func(e *exported) int64 { return e.sums.Input }),
		intColumn("output_tokens", func(e *exported) int64 { return e.sums.Output }),
		intColumn("cached_input_tokens", func(e *exported) int64 { return e.sums.CachedInput }),
		intColumn("cache_write_tokens", func(e *exported) int64 { return e.sums.CacheWrite }),
		intColumn("reasoning_tokens", func(e *exported) int64 { return e.sums.Reasoning }),
		intColumn("audio_input_tokens", func(e *exported) int64 { return e.sums.AudioInput }),
		intColumn("audio_output_tokens", func(e *exported) int64 { return e.sums.AudioOutput }),
		intColumn("estimated_tokens", func(e *exported) int64 { return e.sums.EstimatedTokens }),
	}
}

func requestColumns() []exportColumn {
	all := append(whoColumns(),
		textColumn("provider", func(e *exported) string { return e.Provider }),
		textColumn("model", func(e *exported) string { return e.Model }),
		intColumn("status", func(e *exported) int64 { return int64(e.Status) }),
		textColumn("code", func(e *exported) string { return e.Code }),
		textColumn("finish", func(e *exported) string { return e.Finish }),
		textColumn("cache", func(e *exported) string { return e.Cache }),
		intColumn("attempts", func(e *exported) int64 { return int64(e.Attempts()) }),
		boolColumn("ok", func(e *exported) bool { return e.Account.OK }),
		boolColumn("failed", func(e *exported) bool { return e.Account.Failed }),
		boolColumn("rescued", func(e *exported) bool { return e.Account.Rescued }),
	)
	all = append(all, tokenColumns()...)
	return append(all,
		exportColumn{parquet.Column{Name: "cost_usd", Kind: parquet.Nano}, func(e *exported) datum { return datum{n: e.sums.CostNano} }},
		intColumn("unpriced_attempts", func(e *exported) int64 { return e.sums.Unpriced }),
		intColumn("duration_us", func(e *exported) int64 { return e.Duration.Microseconds() }),
		measuredColumn("first_content_us", func(e *exported) time.Duration { return e.FirstContent }),
		intColumn("overhead_us", func(e *exported) int64 { return e.Overhead.Microseconds() }),
	)
}

func attemptColumns() []exportColumn {
	all := append(whoColumns(),
		intColumn("attempt", func(e *exported) int64 { return int64(e.number) }),
		textColumn("provider", func(e *exported) string { return e.step.Provider }),
		textColumn("model", func(e *exported) string { return e.step.Model }),
		textColumn("model_label", func(e *exported) string { return e.step.Label }),
		textColumn("credential", func(e *exported) string { return e.step.Credential }),
		intColumn("status", func(e *exported) int64 { return int64(e.step.Status) }),
		textColumn("outcome", func(e *exported) string { return e.step.Reason }),
		textColumn("why", func(e *exported) string { return e.step.Why }),
		textColumn("drill", func(e *exported) string { return e.step.Drill }),
	)
	all = append(all, tokenColumns()...)
	return append(all,
		boolColumn("estimated", func(e *exported) bool { return e.step.Estimated }),
		exportColumn{parquet.Column{Name: "cost_usd", Kind: parquet.Nano, Optional: true}, func(e *exported) datum {
			return datum{n: e.sums.CostNano, none: !e.step.Cost.Known}
		}},
		timeColumn("start", func(e *exported) time.Time { return e.step.Start }),
		intColumn("duration_us", func(e *exported) int64 { return e.step.Duration.Microseconds() }),
		measuredColumn("first_content_us", func(e *exported) time.Duration { return e.step.FirstContent }),
	)
}

// rowsOf gives the rows that a request makes in an export: one, or one for each attempt. Their sums are those that the ledger adds up.
func rowsOf(r *ledger.Request, attempts bool, words KeyWords, give func(*exported) error) error {
	out := exported{Request: r, words: words}
	if !attempts {
		ledger.Fold(r, func(_ ledger.Group, s *ledger.Sums) { out.sums.Add(s) })
		return give(&out)
	}
	at := -1 // the first sums are those of the request itself
	var err error
	ledger.Fold(r, func(_ ledger.Group, s *ledger.Sums) {
		if out.number++; out.number == 1 || err != nil {
			return
		}
		for at++; r.Trail[at].Skipped; at++ {
		}
		one := out
		one.sums, one.step, one.number = *s, &r.Trail[at], out.number-1
		err = give(&one)
	})
	return err
}
