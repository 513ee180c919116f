package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"evergate/internal/admin"
)

type drillCmd struct {
	Action        string `arg:"" help:"start, stop, list or report."`
	ID            string `arg:"" optional:"" help:"The drill to stop or to report on."`
	Fault         string `help:"The fault, such as status=503, or cut_after=3, or latency=2s,reset (docs/drills.md)." env:"EVERGATE_DRILL_FAULT"`
	Provider      string `help:"Whose attempts meet it; without it all providers'." env:"EVERGATE_DRILL_PROVIDER"`
	Model         string `help:"Upstream's id, or the name that clients ask for; without it all." env:"EVERGATE_DRILL_MODEL"`
	Key           string `help:"Caller's key, by name; without it all callers." env:"EVERGATE_DRILL_KEY"`
	Header        string `help:"Request header, as name or name: value; without it all requests." env:"EVERGATE_DRILL_HEADER"`
	Share         string `help:"How many of these meet it, from above 0 to 1." default:"1" env:"EVERGATE_DRILL_SHARE"`
	For           string `help:"How long, at most 24h." env:"EVERGATE_DRILL_FOR"`
	Budget        string `help:"How many attempts may meet it." default:"1000" env:"EVERGATE_DRILL_BUDGET"`
	MaxUserErrors string `help:"It ends once so many client requests that it touched have failed." default:"0" env:"EVERGATE_DRILL_MAX_USER_ERRORS"`
	Reason        string `help:"Why, for whoever wonders." env:"EVERGATE_DRILL_REASON"`
	JSON          bool   `help:"Print the reply as it is." env:"EVERGATE_DRILL_JSON"`
	URL           string `help:"Address of the gateway (or of its admin listener)." default:"http://127.0.0.1:8080" env:"EVERGATE_URL"`
	Token         string `help:"Admin token." env:"EVERGATE_ADMIN_TOKEN"`
}

func (k *drillCmd) Run(c *cli) error {
	ctx, stop := signal.NotifyContext(c.trusting(context.Background()), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return k.run(ctx, os.Stdout)
}

func (k *drillCmd) run(ctx context.Context, out io.Writer) error {
	const faultsPath = "/admin/v1/faults"
	method, path, body, needsID := http.MethodGet, faultsPath+"/"+url.PathEscape(k.ID), any(nil), true
	switch k.Action {
	case "start":
		rule, err := k.rule()
		if err != nil {
			return err
		}
		method, path, body, needsID = http.MethodPost, faultsPath, rule, false
	case "stop":
		method, body = http.MethodDelete, map[string]string{"reason": k.Reason}
	case "list":
		path, needsID = faultsPath, false
	case "report":
	default:
		return fmt.Errorf("there is no drill %s: it is start, stop, list or report", k.Action)
	}
	switch {
	case needsID && k.ID == "":
		return fmt.Errorf("drill %s needs the id of a drill; drill list shows them", k.Action)
	case !needsID && k.ID != "":
		return fmt.Errorf("drill %s takes no id", k.Action)
	}
	gateway := adminClient{url: k.URL, token: k.Token}
	reply, err := gateway.ask(ctx, method, path, body)
	switch {
	case err != nil:
		return err
	case k.JSON:
		_, err = fmt.Fprintln(out, strings.TrimSpace(string(reply)))
		return err
	}
	return admin.RenderFaults(out, reply, time.Now())
}

// rule is what the flags say; the gateway says what is wrong with it.
func (k *drillCmd) rule() (map[string]any, error) {
	if k.Fault == "" || k.For == "" || k.Reason == "" {
		return nil, errors.New("drill start needs --fault, --for and --reason, such as --fault status=503 --for 10m --reason rehearsal")
	}
	rule := map[string]any{
		"shape": shapeOf(k.Fault), "provider": k.Provider, "model": k.Model, "key": k.Key, "for": k.For, "reason": k.Reason,
		"share": number(k.Share), "budget": number(k.Budget), "max_user_errors": number(k.MaxUserErrors),
	}
	if name, value, _ := strings.Cut(k.Header, ":"); name != "" {
		rule["header"] = map[string]string{"name": strings.TrimSpace(name), "value": strings.TrimSpace(value)}
	}
	return rule, nil
}

// shapeOf reads a fault: names with or without a value, with commas between them.
func shapeOf(fault string) map[string]any {
	shape := map[string]any{}
	for word := range strings.SplitSeq(fault, ",") {
		name, value, given := strings.Cut(strings.TrimSpace(word), "=")
		if shape[name] = true; given {
			shape[name] = number(value)
		}
	}
	return shape
}

// number is a text as JSON has it: as a number, if it is one.
func number(text string) any {
	var n json.Number
	if json.Unmarshal([]byte(text), &n) == nil && n != "" {
		return n
	}
	return text
}
