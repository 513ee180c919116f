package app

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"evergate/internal/admin"
	"evergate/internal/alert"
	"evergate/internal/config"
	"evergate/internal/reach"
	"evergate/internal/telemetry"
)

// newAlerts makes what tells people. It is a sink; it has nobody to tell before a configuration is taken.
func (a *App) newAlerts() *alert.Watcher {
	client := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: a.dialReceiver(),
		TLSHandshakeTimeout: 5 * time.Second, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
	}
	if a.opts.Dial != nil {
		client.Proxy, client.DialContext = nil, a.opts.Dial
	}
	return alert.New(alert.Options{Instance: a.instance, Log: a.log, Random: rand.Float64, Leases: leases{a}, Client: client})
}

// dialReceiver connects to receivers of alerts, whose names lead into private networks where the configuration says so alone.
func (a *App) dialReceiver() func(context.Context, string, string) (net.Conn, error) {
	dialer, proxies := &net.Dialer{Timeout: 5 * time.Second}, reach.EnvironmentProxies()
	strict := reach.With(dialer, reach.Options{Trusted: proxies})
	private := reach.With(dialer, reach.Options{Private: true, Trusted: proxies})
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(address) // empty with an error, which is nobody's
		if hosts := a.privateReceivers.Load(); hosts != nil && slices.Contains(*hosts, strings.ToLower(host)) {
			return private(ctx, network, address)
		}
		return strict(ctx, network, address)
	}
}

// takeAlerts puts a configuration's receivers in force.
func (a *App) takeAlerts(c *config.Config) {
	var private []string
	receivers := make([]alert.Receiver, len(c.Alerts))
	for i, r := range c.Alerts {
		receivers[i] = alert.Receiver{Name: r.Name, URL: r.URL.Reveal(), Secret: r.Secret.Reveal(), Format: r.Format, On: r.On, For: r.For}
		if u, err := url.Parse(r.URL.Reveal()); err == nil && r.Private {
			private = append(private, strings.ToLower(u.Hostname()))
		}
	}
	a.privateReceivers.Store(&private)
	var providers []string
	for i := range c.Providers {
		if !c.Providers[i].Disabled {
			providers = append(providers, c.Providers[i].Options.Name)
		}
	}
	a.alerts.Apply(receivers, providers)
}

// startAlerts begins to tell; a stop brings what is on its way, as far as that goes quickly.
func (a *App) startAlerts() {
	a.alerts.Start()
	a.stops = append(a.stops, func(ctx context.Context) error {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime) // the grace period may be over
		defer cancel()
		a.alerts.Stop(last)
		return nil
	})
}

// leases are the fleet's, for alerts; who is alone has them all.
type leases struct{ a *App }

// Claim implements alert.Leases.
func (l leases) Claim(name string, life time.Duration) (bool, error) {
	if l.a.fleet == nil {
		return true, nil
	}
	return l.a.fleet.Claim(context.Background(), name, life) // it has a limit of its own
}

// Yield implements alert.Leases.
func (l leases) Yield(name string) {
	if l.a.fleet != nil {
		l.a.fleet.Yield(context.Background(), name)
	}
}

// alertStates are what the metrics read of alerts.
func (a *App) alertStates() []telemetry.AlertState {
	var out []telemetry.AlertState
	for _, r := range a.alerts.Receivers() {
		out = append(out, telemetry.AlertState{Receiver: r.Name, Delivered: r.Delivered, Failed: r.Failed, Dropped: r.Dropped, Waiting: r.Waiting})
	}
	return out
}

// alertsView is the reply of GET /admin/v1/alerts.
func (a *App) alertsView() []admin.AlertReceiver {
	out := []admin.AlertReceiver{}
	for _, r := range a.alerts.Receivers() {
		shown := admin.AlertReceiver{
			Name: r.Name, Format: "json", Signed: r.Signed, For: r.For.Milliseconds(), Delivered: r.Delivered, Failed: r.Failed, Dropped: r.Dropped,
			Waiting: r.Waiting, LastDelivered: admin.Time(r.LastDelivered), Message: r.LastError,
		}
		if r.Slack {
			shown.Format = "slack"
		}
		for _, e := range r.On {
			shown.On = append(shown.On, string(e))
		}
		out = append(out, shown)
	}
	return out
}

// testAlert is POST /admin/v1/alerts/test.
func (a *App) testAlert(ctx context.Context, receiver, by string) (admin.AlertTest, bool) {
	t, known := a.alerts.Test(ctx, receiver, by)
	return admin.AlertTest{Receiver: receiver, Delivered: t.Delivered, Status: t.Status, Message: t.Message, Took: t.Took.Milliseconds()}, known
}
