package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"evergate/internal/resilience"
	"evergate/internal/route"
)

// layer is one source of settings. A field is taken from the first layer that sets it.
type layer struct {
	from       Origin
	resilience *resilienceFile
	timeouts   *timeoutsFile
}

// merger finds effective settings field by field and remembers where each came from.
type merger struct {
	layers   []layer
	settings []Setting
}

// globalLayers are the layers that hold for all providers: environment before file.
func globalLayers(env *resilienceFile, f *file) []layer {
	return []layer{
		{from: FromEnvironment, resilience: env},
		{from: FromGlobal, resilience: &f.resilience.v.resilienceFile, timeouts: &f.timeouts.v},
	}
}

// providerLayers are all layers of one provider, the strongest first.
func providerLayers(p *providerFile, class string, env *resilienceFile, f *file) []layer {
	classFile := f.class(class)
	layers := []layer{
		{from: FromOverride, resilience: &p.resilience.v, timeouts: &p.timeouts.v},
		{from: FromClass, resilience: &classFile.resilienceFile, timeouts: &classFile.timeouts.v},
	}
	layers = append(layers, globalLayers(env, f)...)
	return append(layers, layer{from: FromClassBuiltIn, resilience: classNumbers(class)})
}

func (f *file) class(name string) *classFile {
	c := &f.resilience.v.classes.v
	switch name {
	case classOAuth:
		return &c.oauth.v
	case classLocal:
		return &c.local.v
	}
	return &c.apiKey.v
}

// classNumbers are R30's; api_key's are those built in.
func classNumbers(class string) *resilienceFile {
	var f resilienceFile
	b := &f.breaker.v
	switch class {
	case classOAuth:
		b.failureThreshold, b.timeout = builtIn(3), builtIn(60*time.Second)
	case classLocal:
		b.failureThreshold, b.timeout = builtIn(2), builtIn(15*time.Second)
	}
	return &f
}

func builtIn[V any](v V) given[V] { return given[V]{v: v, set: true} }

// take puts the strongest layer's value, if any has one, in the place of the built-in one.
func take[V any](m *merger, name string, into *V, show func(V) string, pick func(*resilienceFile) given[V]) Origin {
	return takeFrom(m, name, into, show, func(l layer) given[V] {
		if l.resilience == nil {
			return given[V]{}
		}
		return pick(l.resilience)
	})
}

func takeFrom[V any](m *merger, name string, into *V, show func(V) string, pick func(layer) given[V]) Origin {
	from := FromBuiltIn
	for _, l := range m.layers {
		if g := pick(l); g.set {
			*into, from = g.v, l.from
			break
		}
	}
	m.settings = append(m.settings, Setting{Name: name, Value: show(*into), From: from})
	return from
}

// resilienceSettings are the effective settings of RESILIENCE.md.
func (m *merger) resilienceSettings() resilience.Settings {
	s := resilience.Defaults()
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	type file = *resilienceFile

	take(m, "when_all_blocked", &s.WhenAllBlocked, showWhenAllBlocked, func(f file) given[resilience.WhenAllBlocked] { return f.whenAllBlocked })
	take(m, "pass_status", &s.PassStatus, strconv.FormatBool, func(f file) given[bool] { return f.passStatus })

	r := &s.Retry
	take(m, "retry.max_retries", &r.MaxRetries, strconv.Itoa, func(f file) given[int] { return f.retry.v.maxRetries })
	take(m, "retry.initial_backoff", &r.InitialBackoff, formatDuration, func(f file) given[time.Duration] { return f.retry.v.initialBackoff })
	take(m, "retry.max_backoff", &r.MaxBackoff, formatDuration, func(f file) given[time.Duration] { return f.retry.v.maxBackoff })
	take(m, "retry.backoff_factor", &r.BackoffFactor, number, func(f file) given[float64] { return f.retry.v.backoffFactor })
	take(m, "retry.jitter_factor", &r.JitterFactor, number, func(f file) given[float64] { return f.retry.v.jitterFactor })
	take(m, "retry.same_target", &r.SameTarget, strconv.Itoa, func(f file) given[int] { return f.retry.v.sameTarget })
	take(m, "retry.max_wait", &r.MaxWait, formatDuration, func(f file) given[time.Duration] { return f.retry.v.maxWait })
	take(m, "retry.budget", &r.Budget, number, func(f file) given[float64] { return f.retry.v.budget })
	take(m, "retry.streams", &r.Streams, strconv.FormatBool, func(f file) given[bool] { return f.retry.v.streams })

	b := &s.Breaker
	take(m, "circuit_breaker.failure_threshold", &b.FailureThreshold, strconv.Itoa, func(f file) given[int] { return f.breaker.v.failureThreshold })
	take(m, "circuit_breaker.success_threshold", &b.SuccessThreshold, strconv.Itoa, func(f file) given[int] { return f.breaker.v.successThreshold })
	take(m, "circuit_breaker.timeout", &b.Timeout, formatDuration, func(f file) given[time.Duration] { return f.breaker.v.timeout })
	take(m, "circuit_breaker.half_open_max_probes", &b.HalfOpenMaxProbes, strconv.Itoa, func(f file) given[int] { return f.breaker.v.halfOpenMaxProbes })
	take(m, "circuit_breaker.scope", &b.Scope, resilience.Scope.String, func(f file) given[resilience.Scope] { return f.breaker.v.scope })
	take(m, "circuit_breaker.ramp", &b.Ramp, formatDuration, func(f file) given[time.Duration] { return f.breaker.v.ramp })

	c := &s.Cooldown
	from := take(m, "cooldown.failures", &c.Failures, strconv.Itoa, func(f file) given[int] { return f.cooldown.v.failures })
	c.Explicit = from != FromBuiltIn // R28
	take(m, "cooldown.window", &c.Window, formatDuration, func(f file) given[time.Duration] { return f.cooldown.v.window })
	take(m, "cooldown.min_failure_ratio", &c.MinFailureRatio, number, func(f file) given[float64] { return f.cooldown.v.minFailureRatio })
	take(m, "cooldown.base", &c.Base, formatDuration, func(f file) given[time.Duration] { return f.cooldown.v.base })
	take(m, "cooldown.factor", &c.Factor, number, func(f file) given[float64] { return f.cooldown.v.factor })
	take(m, "cooldown.max", &c.Max, formatDuration, func(f file) given[time.Duration] { return f.cooldown.v.max })

	k := &s.CredentialCooldown
	take(m, "credential_cooldown.base", &k.Base, formatDuration, func(f file) given[time.Duration] { return f.credentialCooldown.v.base })
	take(m, "credential_cooldown.max", &k.Max, formatDuration, func(f file) given[time.Duration] { return f.credentialCooldown.v.max })
	take(m, "credential_cooldown.auth_base", &k.AuthBase, formatDuration, func(f file) given[time.Duration] { return f.credentialCooldown.v.authBase })
	take(m, "credential_cooldown.quota_base", &k.QuotaBase, formatDuration, func(f file) given[time.Duration] { return f.credentialCooldown.v.quotaBase })

	l := &s.ModelLockout
	take(m, "model_lockout.base", &l.Base, formatDuration, func(f file) given[time.Duration] { return f.modelLockout.v.base })
	take(m, "model_lockout.max", &l.Max, formatDuration, func(f file) given[time.Duration] { return f.modelLockout.v.max })
	return s
}

// rules are the effective classify rules: the whole list of the first layer that has one.
func (m *merger) rules() []given[ruleFile] {
	var rules []given[ruleFile]
	take(m, "classify", &rules, func(r []given[ruleFile]) string { return fmt.Sprintf("%d rules", len(r)) },
		func(f *resilienceFile) given[[]given[ruleFile]] { return f.classify })
	return rules
}

// timeoutSettings are the effective time limits, as far as the layers know them.
func (m *merger) timeoutSettings() route.Timeouts {
	t := route.DefaultTimeouts()
	for _, limit := range timeoutFields() {
		takeFrom(m, "timeouts."+limit.name, limit.in(&t), formatDuration, func(l layer) given[time.Duration] {
			if l.timeouts == nil {
				return given[time.Duration]{}
			}
			return *limit.written(l.timeouts)
		})
	}
	return t
}

// overlay is a provider's limits with those of a virtual model or a target in front.
func overlay(t route.Timeouts, f *timeoutsFile) route.Timeouts {
	for _, limit := range timeoutFields() {
		if g := limit.written(f); g.set {
			*limit.in(&t) = g.v
		}
	}
	return t
}

type timeoutField struct {
	name    string
	in      func(*route.Timeouts) *time.Duration
	written func(*timeoutsFile) *given[time.Duration]
}

func timeoutFields() []timeoutField {
	type in = *route.Timeouts
	type file = *timeoutsFile
	return []timeoutField{
		{"connect", func(t in) *time.Duration { return &t.Connect }, func(f file) *given[time.Duration] { return &f.connect }},
		{"attempt", func(t in) *time.Duration { return &t.Attempt }, func(f file) *given[time.Duration] { return &f.attempt }},
		{"first_chunk", func(t in) *time.Duration { return &t.FirstChunk }, func(f file) *given[time.Duration] { return &f.firstChunk }},
		{"idle", func(t in) *time.Duration { return &t.Idle }, func(f file) *given[time.Duration] { return &f.idle }},
		{"content_idle", func(t in) *time.Duration { return &t.ContentIdle }, func(f file) *given[time.Duration] { return &f.contentIdle }},
		{"total", func(t in) *time.Duration { return &t.Total }, func(f file) *given[time.Duration] { return &f.total }},
		{"stream_total", func(t in) *time.Duration { return &t.StreamTotal }, func(f file) *given[time.Duration] { return &f.streamTotal }},
	}
}

func showWhenAllBlocked(w resilience.WhenAllBlocked) string {
	if w == resilience.FailFast {
		return "fail_fast"
	}
	return "try_all"
}

// defaults are the built-in values by key, for the JSON Schema.
func defaults() map[string]string {
	var m merger
	m.resilienceSettings()
	m.timeoutSettings()
	s := defaultServer()
	out := map[string]string{
		"server.listen": s.Listen, "server.max_request_body": fmt.Sprintf("%dMiB", s.MaxRequestBody>>20),
		"server.shutdown_delay": formatDuration(s.ShutdownDelay), "server.shutdown_grace": formatDuration(s.ShutdownGrace), "server.keepalive_interval": formatDuration(s.KeepaliveInterval),
		"server.write_timeout": formatDuration(s.WriteTimeout), "server.header_timeout": formatDuration(s.Front.HeaderTimeout), "server.read_timeout": formatDuration(s.Front.ReadTimeout),
		"server.idle_timeout": formatDuration(s.Front.IdleTimeout), "server.max_header": fmt.Sprintf("%dKiB", s.Front.MaxHeader>>10), "server.forwarded_header": strings.ToLower(s.Front.ForwardedHeader),
		"cors.max_age": formatDuration(s.Front.CORS.MaxAge), "listener_tls.min_version": "1.2", "listener_tls.client_auth": "require", "log.level": defaultLogLevel,
		"state.url": DefaultState, "state.sync_interval": formatDuration(defaultSyncInterval), "state.keep_answers": "true", "provider.key_strategy": "round_robin", "model.strategy": "ordered",
	}
	for _, setting := range m.settings {
		out[setting.Name] = setting.Value
	}
	for _, name := range []string{"when_all_blocked", "pass_status"} {
		out["resilience."+name] = out[name]
	}
	return out
}
