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

	"golang.org/x/term"

	"evergate/internal/admin"
	"evergate/internal/app"
	"evergate/internal/config"
	"evergate/internal/explain"
)

type explainCmd struct {
	Model   string   `arg:"" optional:"" help:"Model, as clients ask for it. May be left out if --request names one."`
	Config  string   `short:"c" help:"Explain by this config file alone, without a running gateway: nothing is blocked." placeholder:"FILE" env:"EVERGATE_EXPLAIN_CONFIG"`
	Request string   `short:"r" help:"File with a client's request body, in any dialect; - is standard input." placeholder:"FILE" env:"EVERGATE_EXPLAIN_REQUEST"`
	Dialect string   `help:"Dialect of the request: chat, completions, embeddings, responses, messages, gemini, ...; found out by itself where it is not said." env:"EVERGATE_EXPLAIN_DIALECT"`
	Stream  bool     `help:"The answer is to be streamed." env:"EVERGATE_EXPLAIN_STREAM"`
	Strict  bool     `help:"As with x-evergate-prefer: strict." env:"EVERGATE_EXPLAIN_STRICT"`
	Prefer  string   `help:"Value of x-evergate-prefer, such as: order=groq; fallbacks=no." env:"EVERGATE_EXPLAIN_PREFER"`
	BYOK    []string `name:"byok" help:"Provider for which the caller brings a key of its own; may be repeated." placeholder:"PROVIDER" env:"EVERGATE_EXPLAIN_BYOK"`
	Key     string   `help:"Caller's key, by name; without it a caller that may use everything." env:"EVERGATE_EXPLAIN_KEY"`
	ID      string   `name:"id" help:"Explain a past request of the running gateway, by its x-request-id." placeholder:"REQUEST_ID" env:"EVERGATE_EXPLAIN_ID"`
	URL     string   `help:"Address of the gateway (or of its admin listener)." default:"http://127.0.0.1:8080" env:"EVERGATE_URL"`
	Token   string   `help:"Admin token." env:"EVERGATE_ADMIN_TOKEN"`
	JSON    bool     `help:"Print the reply as it is." env:"EVERGATE_EXPLAIN_JSON"`
}

func (k *explainCmd) Run(c *cli) error {
	ctx, stop := signal.NotifyContext(c.trusting(context.Background()), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return k.run(ctx, os.Stdin, os.Stdout, term.IsTerminal(int(os.Stdout.Fd())))
}

// run prints the explanation; a request that would be refused, or was not found, is an error.
func (k *explainCmd) run(ctx context.Context, in io.Reader, out io.Writer, color bool) error {
	switch {
	case k.ID != "" && (k.Model != "" || k.Config != "" || k.Request != ""):
		return errors.New("--id explains a request of the past; leave the model, --config and --request out")
	case k.ID == "" && k.Model == "" && k.Request == "":
		return errors.New("name a model, a request body with --request, or a past request with --id")
	case k.ID != "":
		return k.past(ctx, out, color)
	}
	q := explain.Question{Dialect: k.Dialect, Model: k.Model, Stream: k.Stream, Strict: k.Strict, Key: k.Key, Prefer: k.Prefer, Brings: k.BYOK}
	var err error
	if k.Request != "" {
		if q.Body, err = readRequest(k.Request, in); err != nil {
			return err
		}
	}
	var answer *explain.Answer
	var text []byte
	if k.Config != "" {
		answer, err = byConfig(k.Config, q)
	} else {
		answer = &explain.Answer{}
		text, err = k.ask(ctx, http.MethodPost, "/admin/v1/explain?"+parameters(q).Encode(), q.Body, answer)
	}
	if err != nil {
		return err
	}
	return k.print(out, answer, text, func() error { return admin.RenderExplain(out, answer, color) }, answer.Refused != nil)
}

// past explains a past request.
func (k *explainCmd) past(ctx context.Context, out io.Writer, color bool) error {
	var past explain.Past
	text, err := k.ask(ctx, http.MethodGet, "/admin/v1/explain/"+url.PathEscape(k.ID), nil, &past)
	if err != nil {
		return err
	}
	return k.print(out, past, text, func() error { return admin.RenderPast(out, &past, color) }, false)
}

// print writes a reply in one of its forms; text is it as it came, if it came from a gateway.
func (k *explainCmd) print(out io.Writer, reply any, text []byte, render func() error, refused bool) error {
	err := error(nil)
	switch {
	case k.JSON && text != nil:
		_, err = fmt.Fprintln(out, strings.TrimSpace(string(text)))
	case k.JSON:
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		err = e.Encode(reply)
	default:
		err = render()
	}
	if err == nil && refused {
		return &exitError{1, ""}
	}
	return err
}

// byConfig explains by a config alone.
func byConfig(file string, q explain.Question) (*explain.Answer, error) {
	cfg, err := config.Load(file, os.LookupEnv)
	var problems config.Problems
	if errors.As(err, &problems) {
		fmt.Fprintln(os.Stderr, problems.Error())
		return nil, &exitError{1, ""}
	}
	if err != nil {
		return nil, err
	}
	return app.Explain(cfg, q)
}
