package main

import (
	"context"
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

const keysPath = "/admin/v1/keys"

type keysCmd struct {
	Action     string `arg:"" help:"create, list, show, change, rotate or revoke."`
	Name       string `arg:"" optional:"" help:"The key, by name or id."`
	Owner      string `help:"create, change: who answers for it. list: whose keys." env:"EVERGATE_KEYS_OWNER"`
	Team       string `help:"create, change: its team. list: of which team." env:"EVERGATE_KEYS_TEAM"`
	Labels     string `help:"Words for reports, such as app=billing,tier=1." env:"EVERGATE_KEYS_LABELS"`
	Models     string `help:"The models it may use, with commas between them; without it all." env:"EVERGATE_KEYS_MODELS"`
	Providers  string `help:"The providers that may be asked for it; without it all." env:"EVERGATE_KEYS_PROVIDERS"`
	Policies   string `help:"The policies of its requests." env:"EVERGATE_KEYS_POLICIES"`
	Routes     string `help:"The kinds of routes it may use, such as chat,models; without it all." env:"EVERGATE_KEYS_ROUTES"`
	Sources    string `help:"Where it may come from, such as 10.0.0.0/8; without it anywhere." env:"EVERGATE_KEYS_SOURCES"`
	Guardrails string `help:"The guardrails of its requests." env:"EVERGATE_KEYS_GUARDRAILS"`
	Requests   string `help:"How many requests it may make in a minute." env:"EVERGATE_KEYS_REQUESTS"`
	Tokens     string `help:"How many tokens it may use in a minute." env:"EVERGATE_KEYS_TOKENS"`
	Concurrent string `help:"How many requests it may have in flight." env:"EVERGATE_KEYS_CONCURRENT"`
	Budget     string `help:"What it may spend, such as usd=10,per=month,zone=Europe/Berlin; several with semicolons between them." env:"EVERGATE_KEYS_BUDGET"`
	Expires    string `help:"When it ends: a day, which counts to its end, or a moment such as 2027-01-31T18:00:00Z." env:"EVERGATE_KEYS_EXPIRES"`
	Overlap    string `help:"rotate: how long the old key is good, too." default:"1h" env:"EVERGATE_KEYS_OVERLAP"`
	State      string `help:"list: active, rotating, expired, revoked or shadowed." env:"EVERGATE_KEYS_STATE"`
	Reason     string `help:"change, rotate, revoke: why, for the audit log." env:"EVERGATE_KEYS_REASON"`
	JSON       bool   `help:"Print the reply as it is." env:"EVERGATE_KEYS_JSON"`
	URL        string `help:"Address of the gateway (or of its admin listener)." default:"http://127.0.0.1:8080" env:"EVERGATE_URL"`
	Token      string `help:"Admin token." env:"EVERGATE_ADMIN_TOKEN"`
}

func (k *keysCmd) Run(c *cli) error {
	ctx, stop := signal.NotifyContext(c.trusting(context.Background()), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return k.run(ctx, os.Stdout, os.Stderr)
}

// run prints a key that was made to out, alone, and what there is to say of it to beside.
func (k *keysCmd) run(ctx context.Context, out, beside io.Writer) error {
	if (k.Action == "list") != (k.Name == "") {
		if k.Action == "list" {
			return fmt.Errorf("keys list takes no name; keys show %s shows one", k.Name)
		}
		return fmt.Errorf("keys %s needs the name of a key; keys list shows them", k.Action)
	}
	method, path, body := http.MethodGet, keysPath+"/"+url.PathEscape(k.Name), any(nil)
	switch k.Action {
	case "create":
		method, path, body = http.MethodPost, keysPath, k.terms(k.Name)
	case "list":
		path = keysPath + k.filter()
	case "show":
	case "change":
		terms := k.terms("")
		terms["reason"] = k.Reason
		method, body = http.MethodPatch, terms
	case "rotate":
		method, path, body = http.MethodPost, path+"/rotate", map[string]string{"overlap": k.Overlap, "reason": k.Reason}
	case "revoke":
		method, body = http.MethodDelete, map[string]string{"reason": k.Reason}
	default:
		return fmt.Errorf("there is no keys %s: it is create, list, show, change, rotate or revoke", k.Action)
	}
	gateway := adminClient{url: k.URL, token: k.Token}
	reply, err := gateway.ask(ctx, method, path, body)
	switch {
	case err != nil:
		return err
	case k.JSON:
		_, err = fmt.Fprintln(out, strings.TrimSpace(string(reply)))
		return err
	case k.Action == "create", k.Action == "rotate":
		return admin.RenderNewKey(out, beside, reply)
	}
	return admin.RenderKeys(out, reply, time.Now())
}

// filter is the query of a list.
func (k *keysCmd) filter() string {
	q := url.Values{}
	for name, v := range map[string]string{"team": k.Team, "owner": k.Owner, "state": k.State} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}
