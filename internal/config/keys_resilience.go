package config

import (
	"time"

	"evergate/internal/resilience"
)

// globalShape is resilience: at the top of the file.
func globalShape() shape[globalFile] {
	keys := within(func(f *globalFile) *resilienceFile { return &f.resilienceFile }, resilienceKeys())
	classKeys := within(func(f *classFile) *resilienceFile { return &f.resilienceFile }, resilienceKeys())
	classKeys = append(classKeys, field("timeouts", "Time limits of the class.", timeoutsShape(), func(f *classFile) *given[timeoutsFile] { return &f.timeouts }))
	class := object("class", "What differs for one class of providers.", classKeys)
	return object("resilience", "How failures are treated.", append(keys,
		field("classes", "What differs for a class of providers.", object("classes", "Settings by class of provider.", []key[classesFile]{
			field(classAPIKey, "Providers with an API key.", class, func(f *classesFile) *given[classFile] { return &f.apiKey }),
			field(classOAuth, "Providers with OAuth credentials.", class, func(f *classesFile) *given[classFile] { return &f.oauth }),
			field(classLocal, "Servers of your own.", class, func(f *classesFile) *given[classFile] { return &f.local }),
		}), func(f *globalFile) *given[classesFile] { return &f.classes }),
	))
}

func resilienceKeys() []key[resilienceFile] {
	return []key[resilienceFile]{
		field("when_all_blocked", "try_all tries the targets all the same; fail_fast answers 503 or 429 at once.",
			choice(say("try_all", resilience.TryAll), say("fail_fast", resilience.FailFast)), func(f *resilienceFile) *given[resilience.WhenAllBlocked] { return &f.whenAllBlocked }),
		field("pass_status", "Whether a single target's last 5xx goes back with its own status instead of 502.", boolean(), func(f *resilienceFile) *given[bool] { return &f.passStatus }),
		field("retry", "Trying again.", retryShape(), func(f *resilienceFile) *given[retryFile] { return &f.retry }),
		field("circuit_breaker", "When a provider is left alone after failures in a row.", breakerShape(), func(f *resilienceFile) *given[breakerFile] { return &f.breaker }),
		field("cooldown", "When a provider is left alone after many failures in a window.", cooldownShape(), func(f *resilienceFile) *given[cooldownFile] { return &f.cooldown }),
		field("credential_cooldown", "How long a refused or limited key rests.", credentialCooldownShape(), func(f *resilienceFile) *given[credentialCooldownFile] { return &f.credentialCooldown }),
		field("model_lockout", "How long a missing or limited model rests.", modelLockoutShape(), func(f *resilienceFile) *given[modelLockoutFile] { return &f.modelLockout }),
		field("classify", "Rules of your own for what a failure means; the first that matches wins.", list("rules with match and as", ruleShape()), func(f *resilienceFile) *given[[]given[ruleFile]] { return &f.classify }),
	}
}

func retryShape() shape[retryFile] {
	return object("retry", "Trying again.", []key[retryFile]{
		field("max_retries", "Tries of one target beyond its first; 0 turns all retrying and waiting off.", whole(0, 100), func(f *retryFile) *given[int] { return &f.maxRetries }),
		field("initial_backoff", "The wait before the first round of retries.", duration(0), func(f *retryFile) *given[time.Duration] { return &f.initialBackoff }),
		field("max_backoff", "The longest such wait.", duration(0), func(f *retryFile) *given[time.Duration] { return &f.maxBackoff }),
		field("backoff_factor", "How the wait grows from round to round.", number(1, 100), func(f *retryFile) *given[float64] { return &f.backoffFactor }),
		field("jitter_factor", "Random part of the wait, as a share of it.", number(0, 1), func(f *retryFile) *given[float64] { return &f.jitterFactor }),
		field("same_target", "Quick second tries of a healthy target after a transient failure; 0 turns them off.", whole(0, 10), func(f *retryFile) *given[int] { return &f.sameTarget }),
		field("max_wait", "The longest Retry-After that is waited out; 0 turns it off.", duration(0), func(f *retryFile) *given[time.Duration] { return &f.maxWait }),
		field("budget", "Retries as a share of recent requests.", number(0, 10), func(f *retryFile) *given[float64] { return &f.budget }),
		field("streams", "Whether streams are retried too.", boolean(), func(f *retryFile) *given[bool] { return &f.streams }),
	})
}

func breakerShape() shape[breakerFile] {
	return object("circuit_breaker", "The circuit breaker of a provider.", []key[breakerFile]{
		field("failure_threshold", "Failures in a row that open it; 0 turns it off.", whole(0, 1_000_000), func(f *breakerFile) *given[int] { return &f.failureThreshold }),
		field("success_threshold", "Good probes in a row that close it.", whole(1, 1000), func(f *breakerFile) *given[int] { return &f.successThreshold }),
		field("timeout", "How long it stays open before a probe.", duration(time.Millisecond), func(f *breakerFile) *given[time.Duration] { return &f.timeout }),
		field("half_open_max_probes", "Probes at a time; 0 is no limit.", whole(0, 1000), func(f *breakerFile) *given[int] { return &f.halfOpenMaxProbes }),
		field("scope", "What one breaker stands for.", choice(say("provider", resilience.PerProvider), say("model", resilience.PerModel), say("auto", resilience.Auto)), func(f *breakerFile) *given[resilience.Scope] { return &f.scope }),
		field("ramp", "How long traffic grows back after it closed; 0 gives all of it back at once.", duration(0), func(f *breakerFile) *given[time.Duration] { return &f.ramp }),
	})
}

func cooldownShape() shape[cooldownFile] {
	return object("cooldown", "Leaving a provider alone after many failures in a window.", []key[cooldownFile]{
		field("failures", "Failures in the window that start it; 0 turns it off.", whole(0, 1_000_000), func(f *cooldownFile) *given[int] { return &f.failures }),
		field("window", "The window.", duration(time.Second), func(f *cooldownFile) *given[time.Duration] { return &f.window }),
		field("min_failure_ratio", "The least share of failures in the window.", number(0, 1), func(f *cooldownFile) *given[float64] { return &f.minFailureRatio }),
		field("base", "How long the first one lasts.", duration(time.Millisecond), func(f *cooldownFile) *given[time.Duration] { return &f.base }),
		field("factor", "How it grows from one to the next.", number(1, 100), func(f *cooldownFile) *given[float64] { return &f.factor }),
		field("max", "The longest.", duration(time.Millisecond), func(f *cooldownFile) *given[time.Duration] { return &f.max }),
	})
}

func credentialCooldownShape() shape[credentialCooldownFile] {
	return object("credential_cooldown", "Rest of a key that was limited or refused.", []key[credentialCooldownFile]{
		field("base", "After a 429 that names no time; 0 turns all of it off.", duration(0), func(f *credentialCooldownFile) *given[time.Duration] { return &f.base }),
		field("max", "The longest, also of what an upstream asks for.", duration(0), func(f *credentialCooldownFile) *given[time.Duration] { return &f.max }),
		field("auth_base", "After a 401 or 403.", duration(0), func(f *credentialCooldownFile) *given[time.Duration] { return &f.authBase }),
		field("quota_base", "After an exhausted quota.", duration(0), func(f *credentialCooldownFile) *given[time.Duration] { return &f.quotaBase }),
	})
}

func modelLockoutShape() shape[modelLockoutFile] {
	return object("model_lockout", "Rest of a model that is missing or limited.", []key[modelLockoutFile]{
		field("base", "The first; 0 turns it off.", duration(0), func(f *modelLockoutFile) *given[time.Duration] { return &f.base }),
		field("max", "The longest.", duration(0), func(f *modelLockoutFile) *given[time.Duration] { return &f.max }),
	})
}

func ruleShape() shape[ruleFile] {
	same := func(texts ...string) shape[string] {
		words := make([]word[string], len(texts))
		for i, t := range texts {
			words[i] = say(t, t)
		}
		return choice(words...)
	}
	return object("rule", "What a failure means.", []key[ruleFile]{
		field("match", "Which failures; all that is said must hold.", object("match", "Which failures a rule is for.", []key[matchFile]{
			field("provider", "The provider's name.", text("a provider's name"), func(f *matchFile) *given[string] { return &f.provider }),
			field("status", "The HTTP status.", whole(100, 599), func(f *matchFile) *given[int] { return &f.status }),
			field("code", "The upstream's error code or type.", text("an error code"), func(f *matchFile) *given[string] { return &f.code }),
			field("message", "A regular expression on the upstream's message.", pattern(), func(f *matchFile) *given[string] { return &f.message }),
			field("kind", "The kind of failure.", same("timeout", "connect", "reset", "invalid"), func(f *matchFile) *given[string] { return &f.kind }),
		}), func(f *ruleFile) *given[matchFile] { return &f.match }),
		field("as", "failure and next try another target; client hands it to the caller as it is.",
			same("failure", "next", "rate_limit", "auth", "quota", "model", "client"), func(f *ruleFile) *given[string] { return &f.as }),
	})
}
