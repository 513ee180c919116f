package app

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net"
	"slices"
	"time"

	"evergate/internal/catalog"
	"evergate/internal/config"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/identity"
	"evergate/internal/ingress"
	"evergate/internal/provider"
	"evergate/internal/resilience"
	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/cohere"
	"evergate/internal/wire/converse"
	"evergate/internal/wire/gemini"
	"evergate/internal/wire/openaichat"
	"evergate/internal/wire/responses"
)

// dialects are all that clients or providers speak; adding one is adding a line here, and to routes if clients may.
func dialects() *wire.Table {
	return wire.NewTable(append(openaichat.Asides(),
		openaichat.Chat{}, openaichat.Completions{}, openaichat.Embeddings{},
		responses.Responses{},
		anthropic.Messages{}, anthropic.CountTokens{},
		gemini.Generate{}, gemini.CountTokens{}, gemini.Embed{}, gemini.BatchEmbed{}, gemini.VertexEmbed{},
		converse.Converse{}, converse.TitanEmbed{}, converse.NovaEmbed{}, converse.CohereEmbed{},
		cohere.Chat{}, cohere.Embed{},
	)...)
}

// routes are the client protocols served.
func routes() ingress.Routes {
	return ingress.Routes{
		Dialects: append(openaichat.Asides(),
			openaichat.Chat{},
			openaichat.Completions{},
			openaichat.Embeddings{},
			responses.Responses{},
			anthropic.Messages{},
			anthropic.CountTokens{},
		),
		Verbs: map[string]ingress.Verb{
			"generateContent":       {Dialect: gemini.Generate{}},
			"streamGenerateContent": {Dialect: gemini.Generate{}, Stream: true},
			"countTokens":           {Dialect: gemini.CountTokens{}},
			"embedContent":          {Dialect: gemini.Embed{}},
			"batchEmbedContents":    {Dialect: gemini.BatchEmbed{}},
		},
	}
}

// upstream is one provider's client and what it was made of, so that a reload keeps connections where nothing changed.
type upstream struct {
	client   *provider.Client
	identity string
	files    []byte // of TLS: what they held
}

// dialFunc replaces the network in tests.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// parts are everything of a configuration that a reload swaps.
type parts struct {
	upstreams map[string]*upstream
	guards    []health.Config
	sources   []catalog.Source
	shown     map[string]shown // certificates of listeners, by setting
}

// build makes a configuration's parts; it changes nothing that serves. Clients in old whose options did not change are
// kept.
func build(c *config.Config, old map[string]*upstream, dial dialFunc) (*parts, error) {
	p, problems := buildProviders(c, old, dial)
	shown, err := loadShown(c)
	if p.shown = shown; err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		p.closeNew(old)
		return nil, errors.Join(problems...)
	}
	return p, nil
}

// buildProviders is build without what listeners show. A provider that cannot be made anew stays as it is in old, where it has a problem.
func buildProviders(c *config.Config, old map[string]*upstream, dial dialFunc) (p *parts, problems []error) {
	p = &parts{upstreams: map[string]*upstream{}}
	for i := range c.Providers {
		pc := &c.Providers[i]
		o := pc.Options
		files := filesOf(&o)
		id := fingerprintOf(pc) + string(files)
		up := old[o.Name]
		if up == nil || up.identity != id {
			vendor, err := vendorOf(&o, dial)
			if err == nil {
				o.Vendor = vendor
				up, err = newUpstream(o, id, files, dial)
			}
			if err != nil {
				problems = append(problems, fmt.Errorf("provider %s: %w", o.Name, err))
				if up = old[o.Name]; up == nil {
					continue
				}
			}
		}
		p.upstreams[o.Name] = up
		p.guards = append(p.guards, health.Config{
			Name: o.Name, Settings: guarded(pc), Strategy: pc.KeyStrategy, Credentials: credentials(o.Credentials),
		})
		p.sources = append(p.sources, catalog.Source{
			Name: o.Name, Configured: pc.Models, Disabled: pc.Disabled, Identity: up.identity, Fetch: fetch(up.client),
		})
	}
	return p, problems
}

func newUpstream(o provider.Options, id string, files []byte, dial dialFunc) (*upstream, error) {
	client, err := provider.New(o, dial)
	if err != nil {
		return nil, err
	}
	return &upstream{client: client, identity: id, files: files}, nil
}

// Verify says why a configuration would not start although its text is right: files that it names and that are
// missing, values that no header can carry. It opens no connection.
func Verify(c *config.Config) error {
	if err := verifyState(c.State); err != nil {
		return err
	}
	p, err := build(c, nil, nil)
	if err != nil {
		return err
	}
	p.closeNew(nil)
	return verifyShown(c, p.shown, time.Now())
}

func fetch(c *provider.Client) func(context.Context) ([]string, *fault.Fault) {
	return func(ctx context.Context) ([]string, *fault.Fault) { return c.Models(ctx) }
}

// closeNew closes the clients that were made for a configuration that is not taken.
func (p *parts) closeNew(old map[string]*upstream) {
	for name, up := range p.upstreams {
		if old[name] != up {
			up.client.Close()
		}
	}
}

// credentials describes a provider's keys to the guards: names and weights, never values.
func credentials(cs []provider.Credential) []resilience.Credential {
	out := make([]resilience.Credential, len(cs))
	for i, c := range cs {
		h := fnv.New64a()
		_, _ = h.Write([]byte(c.Value.Reveal())) // a hash never fails
		writeGrant(h, c.OAuth)
		out[i] = resilience.Credential{Name: c.Name, Weight: c.Weight, Models: c.Models, Identity: h.Sum64(), Fingerprint: fingerprint(&c)}
	}
	return out
}

// fingerprintOf is a fingerprint of what a client was made of; secrets enter as hashes.
func fingerprintOf(pc *config.Provider) string {
	h := fnv.New128a()
	o := pc.Options
	_, _ = fmt.Fprintf(h, "%v|%v|%v|%v|%v|%v|%v|%v|%v", o.Type, o.BaseURL, o.AuthHeader, o.AuthPrefix, o.TLS, o.Proxy,
		o.ConnectTimeout, o.StreamUsage, o.Classify)
	_, _ = fmt.Fprintf(h, "|%v|%q|%q|%q|%q|%q|%q", o.Private, o.API, o.Region, o.Project, o.Location, o.CredentialsFile, o.APIVersion)
	_, _ = fmt.Fprintf(h, "|%q|%q|%q|%q", o.AWS.AccessKeyID, o.AWS.SecretAccessKey.Reveal(), o.AWS.SessionToken.Reveal(), o.AWS.Profile)
	_, _ = fmt.Fprintf(h, "|%q|%q|%q", o.Entra.TenantID, o.Entra.ClientID, o.Entra.ClientSecret.Reveal())
	for _, name := range slices.Sorted(maps.Keys(o.Headers)) {
		_, _ = fmt.Fprintf(h, "|%s: %s", name, o.Headers[name].Reveal())
	}
	for _, c := range o.Credentials {
		_, _ = fmt.Fprintf(h, "|%s=%s", c.Name, c.Value.Reveal())
		writeGrant(h, c.OAuth)
	}
	return string(h.Sum(nil))
}

// ingressConfig is the data plane's part of a configuration.
func ingressConfig(c *config.Config, p *parts, guards *health.Health, callers *identity.Book) *ingress.Config {
	out := &ingress.Config{
		Table: &c.Table, Providers: map[string]*ingress.Provider{}, MaxBody: c.Server.MaxRequestBody,
		Keepalive: c.Server.KeepaliveInterval, WriteTimeout: c.Server.WriteTimeout, Bodies: c.Log.Bodies,
		ReadTimeout: c.Server.Front.ReadTimeout,
	}
	for i := range c.Providers {
		pc := &c.Providers[i]
		out.Providers[pc.Options.Name] = &ingress.Provider{
			Guards: guards.Provider(pc.Options.Name), Upstream: p.upstreams[pc.Options.Name].client, Settings: &pc.Resilience,
			KeyHeader: ingress.KeyHeader(pc.Options.Name),
		}
		if pc.Passthrough && !pc.Disabled {
			served := out.Providers[pc.Options.Name]
			served.Stores = p.upstreams[pc.Options.Name].client.Stores
			served.Raw, served.Timeouts = p.upstreams[pc.Options.Name].client, pc.Timeouts
		}
	}
	if c.Auth.Mode == config.AuthNone && !c.Auth.AllowAnonymous {
		out.Foreign = foreignPage(c)
	}
	if c.Auth.Mode == config.AuthKeys {
		out.Callers = callers
	}
	return out
}
