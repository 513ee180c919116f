package app

import (
	"context"
	"log/slog"
	"strings"

	"evergate/internal/config"
	"evergate/internal/explain"
	"evergate/internal/ledger"
)

// past is Past for the admin API.
func (a *App) past(r *ledger.Request) *explain.Past {
	p := explain.Tell(&r.Request, r.Targets, r.Cut)
	if copied, ok := a.copies.Of(r.ID); ok {
		p.TellCopy(&copied)
	}
	return p
}

// Explain says what a request would come to in a gateway of this configuration that has just been started (R72): nothing is
// blocked, and no provider was asked for its models. It opens no connection.
func Explain(c *config.Config, q explain.Question) (*explain.Answer, error) {
	a, err := New(Options{Config: c, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Stop(context.Background()) }() // nothing was started that could fail to stop
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // so that nobody waits for lists of models
	answer, err := a.ingress.Explain(ctx, q)
	if err != nil {
		return nil, err
	}
	answer.Notes = append(answer.Notes, "By the config alone: no guard blocks anything, and nothing was measured.")
	var unknown []string
	for i := range c.Providers {
		if p := &c.Providers[i]; !p.Disabled && len(p.Models) == 0 {
			unknown = append(unknown, p.Options.Name)
		}
	}
	if answer.Name.As == "" && len(unknown) > 0 {
		answer.Notes = append(answer.Notes, "A running gateway asks "+strings.Join(unknown, ", ")+
			" for the list of models; by the config alone it is not known. The form provider/model needs no list.")
	}
	return answer, nil
}
