package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"evergate/internal/admin"
	"evergate/internal/config"
	"evergate/internal/front"
	"evergate/internal/provider"
	"evergate/internal/telemetry"
)

// doorway is what of a configuration concerns requests before anybody looks at what they ask.
type doorway struct {
	proxies *front.Proxies // nil: nobody's word is taken
	cors    *front.CORS    // nil: no page of another origin may ask
}

func newDoorway(c *config.Config) *doorway {
	d := &doorway{}
	f := &c.Server.Front
	if len(f.TrustedProxies) > 0 {
		d.proxies = &front.Proxies{Networks: f.TrustedProxies, Header: f.ForwardedHeader}
	}
	if len(f.CORS.Origins) > 0 {
		d.cors = &front.CORS{Origins: f.CORS.Origins, Headers: f.CORS.Headers, MaxAge: f.CORS.MaxAge}
	}
	return d
}

// maxNames is how many different headers a request may have; clients send twenty or thirty.
const maxNames = 200

// received gives requests to a handler as they are to be seen: with the address of their client.
func (a *App) received(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header) > maxNames {
			tooManyHeaders(w)
			return
		}
		if p := a.door.Load().proxies; p != nil {
			p.Client(r)
		}
		h.ServeHTTP(w, r)
	})
}

func tooManyHeaders(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Connection", "close")
	w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
	_, _ = w.Write([]byte(`{"error":{"message":"the request has more than 200 headers","type":"invalid_request_error","param":null,"code":"invalid_request"}}`)) // the client may be gone
}

// toPages lets pages of other origins ask a handler, as far as the configuration does.
func (a *App) toPages(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := a.door.Load().cors; c != nil && c.Answer(w, r) {
			return
		}
		h.ServeHTTP(w, r)
	})
}

// foreignPage tells requests of pages that may not ask where nobody needs a key: a page whose origin the configuration names may.
func foreignPage(c *config.Config) func(*http.Request) bool {
	foreign, cors := admin.ForeignPage([]string{c.Server.Listen}), newDoorway(c).cors
	if cors == nil {
		return foreign
	}
	return func(r *http.Request) bool { return !cors.Allows(r.Header.Get("Origin")) && foreign(r) }
}

// shown is a certificate that was loaded for a listener.
type shown struct {
	files  front.Files
	loaded *front.Certificate
}

// listeners are those with a certificate, as the file has them.
func listeners(c *config.Config) []listenerTLS {
	var out []listenerTLS
	for _, l := range [...]listenerTLS{{"server.listen", c.Server.TLS}, {"admin.listen", c.Admin.TLS}} {
		if l.tls.On() {
			out = append(out, l)
		}
	}
	return out
}

type listenerTLS struct {
	setting string // that names it
	tls     config.TLS
}

// loadShown reads the listeners' files. The error is of type config.Problems.
func loadShown(c *config.Config) (map[string]shown, error) {
	out := map[string]shown{}
	var wrong config.Problems
	for _, l := range listeners(c) {
		setting, t := l.setting, l.tls
		files := front.Files{Cert: t.CertFile, Key: t.KeyFile, ClientCA: t.ClientCAFile, Optional: t.ClientOptional, Min: t.MinVersion}
		loaded, err := front.Load(files)
		if err != nil {
			wrong = append(wrong, fileProblem(t, err))
			continue
		}
		out[setting] = shown{files, loaded}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return out, nil
}

func fileProblem(t config.TLS, err error) config.Problem {
	var file *front.FileError
	if errors.As(err, &file) {
		return t.Problem(file.Key, file.Error())
	}
	return t.Problem("", err.Error())
}

// verifyShown says which certificates are not in force at a time.
func verifyShown(c *config.Config, all map[string]shown, now time.Time) error {
	var wrong config.Problems
	for _, l := range listeners(c) {
		if s, ok := all[l.setting]; ok {
			if err := s.loaded.Valid(now); err != nil {
				wrong = append(wrong, fileProblem(l.tls, err))
			}
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}

// takeShown puts the certificates of a configuration in force at the listeners that have one.
func (a *App) takeShown(all map[string]shown) {
	for _, e := range a.entrances {
		if s, ok := all[e.setting]; ok && e.certs != nil {
			e.certs.Take(s.files, s.loaded)
		}
	}
}

// keepShown refuses certificates that are not in force in the place of ones that are.
func (a *App) keepShown(c *config.Config, all map[string]shown, now time.Time) error {
	for _, e := range a.entrances {
		if s, ok := all[e.setting]; ok && e.certs != nil && e.certs.Current().Valid(now) == nil && s.loaded.Valid(now) != nil {
			return verifyShown(c, all, now)
		}
	}
	return nil
}

// limited puts the limits of a configuration before a listener.
func (a *App) limited(setting string, l net.Listener, c *config.Config) net.Listener {
	f := &c.Server.Front
	if setting != "server.listen" { // operators find a way in when clients are too many
		return l
	}
	return front.Listen(l, front.Limits{
		ProxyProtocol: f.ProxyProtocol, HeaderTime: f.HeaderTimeout, Connections: f.MaxConnections, PerAddress: f.MaxPerAddress,
	}, &a.refused, a.log)
}

// newServer makes the server of an entrance.
func (a *App) newServer(h http.Handler, c *config.Config) *http.Server {
	f := &c.Server.Front
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: f.HeaderTimeout,
		IdleTimeout:       f.IdleTimeout,
		MaxHeaderBytes:    int(f.MaxHeader),
		ErrorLog:          slog.NewLogLogger(serverLog{a.log.Handler()}, slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return a.hard },
		HTTP2: &http.HTTP2Config{ // within TLS alone
			MaxConcurrentStreams: streamsOfOne, SendPingTimeout: pingAfter, PingTimeout: pingTimeout, WriteByteTimeout: c.Server.WriteTimeout,
		},
	}
}

// Bounds of a client's HTTP/2 connection: requests at one time, how long it is silent before it is asked whether it is there, and how long it
// may take to say so.
const (
	streamsOfOne = 250
	pingAfter    = 30 * time.Second
	pingTimeout  = 15 * time.Second
)

const (
	// lookAtFiles is how often certificates are read again: a mounted secret changes in ways that file watchers miss.
	lookAtFiles = 5 * time.Second
	// endsSoon is when a certificate's end is told of, once a day.
	endsSoon = 7 * 24 * time.Hour
)

// watchCertificates puts renewed certificates in force until ctx is done: the listeners', and those of providers.
func (a *App) watchCertificates(ctx context.Context) {
	look := time.NewTicker(lookAtFiles)
	defer look.Stop()
	told := map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		now := time.Now()
		for _, e := range a.entrances {
			if e.certs != nil {
				a.lookAtCertificate(e, now)
				a.tellOfEnd(e, now, told)
			}
		}
		a.lookAtProviderFiles()
	}
}

func (a *App) lookAtCertificate(e *entrance, now time.Time) {
	changed, err := e.certs.Look(now)
	switch {
	case err != nil:
		a.log.Error("certificate refused, the old one stays in force", "setting", e.setting, "error", a.placed(e, err))
	case changed:
		a.log.Info("certificate renewed", "setting", e.setting, "names", e.certs.Current().Names(), "ends", e.certs.Current().End())
	}
}

// placed says what is wrong with a file, with the place in the configuration that names it.
func (a *App) placed(e *entrance, err error) string {
	for _, l := range listeners(a.config.Load()) {
		if l.setting == e.setting {
			return fileProblem(l.tls, err).String()
		}
	}
	return err.Error() // it speaks plain text from the next start on
}

func (a *App) tellOfEnd(e *entrance, now time.Time, told map[string]time.Time) {
	end := e.certs.Current().End()
	if last, before := told[e.setting]; end.Sub(now) > endsSoon || before && now.Sub(last) < 24*time.Hour {
		return
	}
	told[e.setting] = now
	a.log.Warn("certificate ends soon", "setting", e.setting, "ends", end)
}

// lookAtProviderFiles makes clients of providers anew whose TLS files changed. What cannot be used is not taken, and said once; it keeps nobody else's back. Listeners
// look after their own.
func (a *App) lookAtProviderFiles() {
	if !a.reload.TryLock() {
		return // a reload reads them anyway
	}
	defer a.reload.Unlock()
	cfg := a.config.Load()
	changed := []byte{}
	for i := range cfg.Providers {
		o := &cfg.Providers[i].Options
		if up := a.upstreams[o.Name]; up != nil {
			if now := filesOf(o); !bytes.Equal(now, up.files) {
				changed = append(changed, now...)
			}
		}
	}
	switch {
	case len(changed) == 0:
		a.doubted, a.doubts = nil, ""
		return
	case !bytes.Equal(changed, a.doubted):
		a.doubted = changed // of two files that belong together one may be there first
		return
	}
	p, wrong := buildProviders(cfg, a.upstreams, a.opts.Dial)
	said := ""
	if err := errors.Join(wrong...); err != nil {
		said = err.Error()
	}
	if said != a.doubts && said != "" {
		a.log.Error("certificates of providers refused, the old ones stay in force", "error", said)
	}
	if a.doubts = said; !maps.Equal(p.upstreams, a.upstreams) {
		a.take(cfg, p)
		a.log.Info("certificates of providers renewed")
	}
}

// filesOf is a fingerprint of what a provider's TLS files hold; nil: it has none.
func filesOf(o *provider.Options) []byte {
	if o.TLS == (provider.TLS{}) {
		return nil
	}
	h := sha256.New()
	for _, name := range [...]string{o.TLS.CAFile, o.TLS.CertFile, o.TLS.KeyFile} {
		if name == "" {
			continue
		}
		content, err := front.ReadFile(name)
		if err != nil {
			content = []byte(err.Error())
		}
		_, _ = fmt.Fprintf(h, "%d %s", len(content), content) // a hash never fails
	}
	return h.Sum(nil)
}

// frontState is what the metrics read of the front door.
func (a *App) frontState() telemetry.FrontState {
	out := telemetry.FrontState{Refused: a.refused.Counts(), Certificates: map[string]time.Time{}}
	for _, e := range a.entrances {
		if e.certs != nil {
			out.Certificates[e.setting] = e.certs.Current().End()
		}
	}
	return out
}

// needsNewListeners says whether a configuration differs in what a listener is made of.
func (a *App) needsNewListeners(next *config.Config) bool {
	now := a.config.Load()
	x, y := now.Server.Front, next.Server.Front
	return now.Server.TLS.On() != next.Server.TLS.On() || now.Admin.TLS.On() != next.Admin.TLS.On() || !slices.Equal(x.ProxyProtocol, y.ProxyProtocol) ||
		x.HeaderTimeout != y.HeaderTimeout || x.IdleTimeout != y.IdleTimeout || x.MaxHeader != y.MaxHeader || x.MaxConnections != y.MaxConnections || x.MaxPerAddress != y.MaxPerAddress
}
