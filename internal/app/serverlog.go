package app

import (
	"context"
	"log/slog"
	"strings"
)

// serverLog takes what net/http has to say: news of single connections, for level debug, but for a handler's panic, which
// is a bug of ours and must be heard.
type serverLog struct{ slog.Handler }

// Enabled lets everything through; Handle knows the level.
func (serverLog) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes one record.
func (h serverLog) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: panic serving") {
		r.Level = slog.LevelError
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
