package telemetry

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"evergate/internal/journal"
)

func sampleRequest() *journal.Request {
	return &journal.Request{
		ID: "req_0123456789abcdef", Dialect: "chat", Stream: true, Key: "ci", Asked: "fast", Route: "fast",
		Provider: "openai", Model: "gpt-4o-mini", Status: 200, Committed: true,
		Duration: 1234567 * time.Microsecond, FirstContent: 234500 * time.Microsecond, Overhead: 123 * time.Microsecond,
		Usage: journal.Usage{Known: true, Input: 123, Output: 456}, Finish: "stop", UpstreamRequestID: "req_abc",
		Trail: []journal.Step{
			{Provider: "groq", Model: "llama-3.3", Status: 503, Reason: "upstream_error", Message: "overloaded"},
			{Provider: "openai", Model: "gpt-4o-mini", Status: 200, Reason: "ok"},
		},
	}
}

func BenchmarkRequestLine(b *testing.B) {
	for _, f := range []string{"json", "text"} {
		b.Run(f, func(b *testing.B) {
			w := NewLineWriter(io.Discard)
			defer func() { _ = w.Close() }()
			logger, err := NewLogger(w, f, slog.LevelInfo)
			if err != nil {
				b.Fatal(err)
			}
			logs, r := NewLogs(logger), sampleRequest()
			b.ReportAllocs()
			for b.Loop() {
				logs.RequestEnded(r)
			}
		})
	}
	b.Run("slog's own json", func(b *testing.B) {
		w := NewLineWriter(io.Discard)
		defer func() { _ = w.Close() }()
		logs, r := NewLogs(slog.New(slog.NewJSONHandler(w, nil))), sampleRequest()
		b.ReportAllocs()
		for b.Loop() {
			logs.RequestEnded(r)
		}
	})
}
