package config

import (
	"regexp"
	"time"

	"evergate/internal/probing"
	"evergate/internal/provider"
	"evergate/internal/quota"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// Config is a whole configuration: checked, complete, never changed once made. It may be shared and copied.
type Config struct {
	// File is the name it was read from; empty if the providers were found in the environment.
	File string
	// Text is the file without its secrets; empty with File.
	Text   string
	Server Server
	Admin  Admin
	Auth   Auth
	Log    Log
	State  State
	Ledger Ledger
	Cache  Cache
	// Providers in the order of the file, detected ones after them.
	Providers []Provider
	// Table routes model names; its providers are in the same order.
	Table route.Table
	// Resilience and Timeouts are the global settings, before any class or provider changes them.
	Resilience resilience.Settings
	Timeouts   route.Timeouts
	// RefreshInterval is how often models are discovered again; 0 = never after the start.
	RefreshInterval time.Duration
	// RecheckInterval is how often a provider whose last discovery failed is asked again; 0 = off.
	RecheckInterval time.Duration
	// Alerts are the receivers of alerts.
	Alerts []Alert
	// Availability is what models are to reach (R77), 0 to 1, by the name of the virtual model; those without a target are not in it.
	Availability map[string]float64
	// ModelLimits are what all callers together may use of virtual models at a time, by name.
	ModelLimits map[string]quota.Limits
	// Guardrails judge the words of requests and answers.
	Guardrails Guardrails
	// Warnings are doubts that keep nothing from starting.
	Warnings Problems
}

// Server is the listener that clients talk to. In its times 0 turns off what they set.
type Server struct {
	Listen            string        // host:port
	MaxRequestBody    int64         // bytes
	ShutdownDelay     time.Duration // new requests are still taken, though readiness fails; then ShutdownGrace begins
	ShutdownGrace     time.Duration
	KeepaliveInterval time.Duration
	WriteTimeout      time.Duration
	TLS               TLS
	Front             Front
}

// Admin is the admin API.
type Admin struct {
	// Listen is host:port; empty: the server's listener.
	Listen string
	TLS    TLS
	// Token is empty where none is needed.
	Token provider.Secret
	Pprof bool
	// NoDrills: no fault is injected, whoever of the fleet may have started a drill.
	NoDrills bool
}

// Log says how to log. Format is text, json, or empty: by whether standard error is a terminal.
type Log struct {
	Format string
	Level  string // debug, info, warn, error
	// Bodies is how many bytes are kept of each request's body and of its answer; 0: nothing.
	Bodies int
	// Redact is what is taken out of them before.
	Redact []*regexp.Regexp
}

// Provider is one upstream with everything that is particular to it.
type Provider struct {
	Options  provider.Options
	Class    string // api_key, oauth, local
	Disabled bool
	// Resilience and Timeouts are effective: inherited field by field.
	Resilience  resilience.Settings
	KeyStrategy resilience.KeyStrategy
	Timeouts    route.Timeouts
	// Models are the configured ids; empty: discovered.
	Models []string
	// Attributes are for policies; BYOK is whether callers bring their own key.
	Attributes route.Attributes
	BYOK       route.BYOK
	Probe      probing.Settings
	// Passthrough says whether it takes requests as they are.
	Passthrough bool
	// Limits are what may be used of it at a time.
	Limits quota.Limits
	// Settings are the same values as Resilience and Timeouts, in words and with where each came from.
	Settings []Setting
}

// Setting is one effective value of a provider.
type Setting struct {
	Name  string `json:"name"`  // such as retry.max_retries
	Value string `json:"value"` // as one would write it
	From  Origin `json:"from"`
}

// Origin is where an effective value came from.
type Origin string

// The origins, the strongest first. A target's and a virtual model's timeouts stand before all of them.
const (
	FromOverride     Origin = "override"      // the provider in the file
	FromClass        Origin = "class"         // resilience.classes in the file
	FromEnvironment  Origin = "env"           // the environment
	FromGlobal       Origin = "global"        // resilience: or timeouts: in the file
	FromClassBuiltIn Origin = "class default" // R30's numbers of the class
	FromBuiltIn      Origin = "built in"
)

func defaultServer() Server {
	return Server{
		Listen: "127.0.0.1:8080", MaxRequestBody: 32 << 20, ShutdownGrace: 30 * time.Second,
		KeepaliveInterval: 15 * time.Second, WriteTimeout: time.Minute, Front: defaultFront(),
	}
}

const (
	defaultRefresh      = time.Hour
	defaultRecheck      = time.Minute
	defaultSyncInterval = 5 * time.Second
	defaultLogLevel     = "info"
)
