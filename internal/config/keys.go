package config

import (
	"regexp"
	"time"

	"evergate/internal/quota"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// fileShape is the whole document.
func fileShape() shape[file] {
	return object("config", "Configuration of an Evergate gateway.", []key[file]{
		field("server", "The listener that clients talk to.", serverShape(), func(f *file) *given[serverFile] { return &f.server }),
		field("admin", "The admin API, metrics and status.", adminShape(), func(f *file) *given[adminFile] { return &f.admin }),
		field("auth", "Who may use the gateway.", authShape(), func(f *file) *given[authFile] { return &f.auth }),
		field("log", "What is logged, and how.", logShape(), func(f *file) *given[logFile] { return &f.log }),
		field("state", "Where the guards' state is kept.", stateShape(), func(f *file) *given[stateFile] { return &f.state }),
		field("ledger", "How much is kept of requests that are over, in the store of state.", ledgerShape(), func(f *file) *given[ledgerFile] { return &f.ledger }),
		field("cache", "How much is kept of answers, for models that have a cache.", cacheShape(), func(f *file) *given[cacheFile] { return &f.cache }),
		field("alerts", "Who is told when something is the matter.", list("receivers with a name and a url", alertShape()), func(f *file) *given[[]given[alertFile]] { return &f.alerts }),
		field("guardrails", "What judges the words of requests and answers, by a name of your own.", table("names of guardrails", guardrailShape()), func(f *file) *given[[]entry[guardrailFile]] { return &f.guardrails }),
		field("guardrail_defaults", "The guardrails of every request, by name; a key, a team and a model can add others.", guardrailNamesShape(), func(f *file) *given[[]given[string]] { return &f.guardrailDefaults }),
		field("detect", "Whether providers found in the environment are added to those of the file.", boolean(), func(f *file) *given[bool] { return &f.detect }),
		field("providers", "The upstreams, by a name of your own.", table("names of providers", providerShape()), func(f *file) *given[[]entry[providerFile]] { return &f.providers }),
		field("models", "Virtual models: a name of your own that stands for one or more targets.", table("names of models", modelShape()), func(f *file) *given[[]entry[modelFile]] { return &f.models }),
		field("failover", "For a model called by its own name (provider/model or a bare id): where to go when it fails.",
			table("models", list("targets such as provider/model", text("a target such as provider/model"))), func(f *file) *given[[]entry[[]given[string]]] { return &f.failover }),
		field("catalog", "What is true of models, by id or provider/model: it stands before the built-in catalogue.",
			table("models", factsShape()), func(f *file) *given[[]entry[factsFile]] { return &f.catalog }),
		field("resilience", "How failures are treated, for all providers.", globalShape(), func(f *file) *given[globalFile] { return &f.resilience }),
		field("timeouts", "Time limits, for all providers.", timeoutsShape(), func(f *file) *given[timeoutsFile] { return &f.timeouts }),
		field("policies", "Where requests may go, by a name of your own.", table("names of policies", policyShape()), func(f *file) *given[[]entry[policyFile]] { return &f.policies }),
		field("policy", "The policy of every request, by name; a key, a model and a request can add another.", policyNameShape(), func(f *file) *given[string] { return &f.policy }),
	})
}

func serverShape() shape[serverFile] {
	return object("server", "The listener that clients talk to.", append([]key[serverFile]{
		field("listen", "Address as host:port.", text("host:port"), func(f *serverFile) *given[string] { return &f.listen }),
		field("max_request_body", "Largest request body.", size(), func(f *serverFile) *given[int64] { return &f.maxRequestBody }),
		field("shutdown_delay", "How long requests are still taken after SIGTERM, with readiness failing, so that load balancers notice.", duration(0), func(f *serverFile) *given[time.Duration] { return &f.shutdownDelay }),
		field("shutdown_grace", "How long running requests may go on after SIGTERM, or after shutdown_delay if there is one.", duration(0), func(f *serverFile) *given[time.Duration] { return &f.shutdownGrace }),
		field("keepalive_interval", "A comment is sent to the client when a stream was silent for so long; 0 turns it off.", duration(0), func(f *serverFile) *given[time.Duration] { return &f.keepaliveInterval }),
		field("write_timeout", "A client that takes no byte for so long is disconnected; 0 turns it off.", duration(0), func(f *serverFile) *given[time.Duration] { return &f.writeTimeout }),
	}, within(func(f *serverFile) *frontFile { return &f.front }, frontKeys())...))
}

func adminShape() shape[adminFile] {
	return object("admin", "The admin API, metrics and status.", []key[adminFile]{
		field("listen", "Address of its own as host:port; empty: the server's listener.", optionalText("host:port"), func(f *adminFile) *given[string] { return &f.listen }),
		field("tls", "The certificate of the listener of its own.", listenerTLSShape(), func(f *adminFile) *given[listenerTLSFile] { return &f.tls }),
		field("token", "Bearer token of the admin API; needed off loopback. Without one EVERGATE_ADMIN_TOKEN counts.", secret("a token"), func(f *adminFile) *given[secretText] { return &f.token }),
		field("pprof", "Whether Go profiles are served below /debug/pprof.", boolean(), func(f *adminFile) *given[bool] { return &f.pprof }),
		field("drills", "Whether faults may be injected on purpose; without it they may.", boolean(), func(f *adminFile) *given[bool] { return &f.drills }),
	})
}

func logShape() shape[logFile] {
	return object("log", "What is logged, and how.", []key[logFile]{
		field("bodies", "Whether prompts and replies are kept in the ledger.", boolean(), func(f *logFile) *given[bool] { return &f.bodies }),
		field("max_body", "How much is kept of each of them.", bodySize(), func(f *logFile) *given[int64] { return &f.maxBody }),
		field("redact", "What is taken out of them before they are kept, besides credentials: regular expressions in RE2's syntax.",
			list("regular expressions", expression()), func(f *logFile) *given[[]given[*regexp.Regexp]] { return &f.redact }),
		field("format", "Without it: text at a terminal, json otherwise.", choice(say("text", "text"), say("json", "json")), func(f *logFile) *given[string] { return &f.format }),
		field("level", "The least level that is logged.", choice(say("debug", "debug"), say("info", "info"), say("warn", "warn"), say("error", "error")), func(f *logFile) *given[string] { return &f.level }),
	})
}

func stateShape() shape[stateFile] {
	return object("state", "Where the guards' state is kept.", []key[stateFile]{
		field("url", "A file (sqlite:FILE), a server that instances share (redis://…, postgres://…), or memory:, the process alone. Without one EVERGATE_STATE_URL counts.", stateURL(), func(f *stateFile) *given[secretText] { return &f.url }),
		field("sync_interval", "How often instances exchange it.", duration(100*time.Millisecond), func(f *stateFile) *given[time.Duration] { return &f.syncInterval }),
		field("keep_answers", "Whether answers that the gateway keeps for previous_response_id are kept there, too: prompts and replies, for 30 days.", boolean(), func(f *stateFile) *given[bool] { return &f.keepAnswers }),
	})
}

func providerShape() shape[providerFile] {
	return object("provider", "An upstream.", []key[providerFile]{
		field("type", "Its API, or a preset that also knows base URL and class.", choice(typeWords()...), func(f *providerFile) *given[string] { return &f.typ }),
		field("api", "Which of OpenAI's APIs it is asked in; auto: the caller's own where it has that, else chat completions.",
			choice(say("auto", "auto"), say("chat", "chat"), say("responses", "responses")), func(f *providerFile) *given[string] { return &f.api }),
		field("disabled", "Takes it out of use.", boolean(), func(f *providerFile) *given[bool] { return &f.disabled }),
		field("base_url", "Where it is, with or without the version segment (/v1).", text("a URL"), func(f *providerFile) *given[string] { return &f.baseURL }),
		field("class", "Picks the defaults of the circuit breaker.", choice(say(classAPIKey, classAPIKey), say(classOAuth, classOAuth), say(classLocal, classLocal)), func(f *providerFile) *given[string] { return &f.class }),
		field("key_strategy", "How a key is chosen among several.", choice(
			say("round_robin", resilience.RoundRobin), say("fill_first", resilience.FillFirst), say("weighted", resilience.Weighted), say("least_used", resilience.LeastUsed),
		), func(f *providerFile) *given[resilience.KeyStrategy] { return &f.keyStrategy }),
		field("api_key", "Short for keys with one key.", secret("a key"), func(f *providerFile) *given[secretText] { return &f.apiKey }),
		field("oauth", "Short for keys with one key that has oauth.", oauthShape(), func(f *providerFile) *given[oauthFile] { return &f.oauth }),
		field("keys", "Its credentials.", list("keys", keyShape()), func(f *providerFile) *given[[]given[keyFile]] { return &f.keys }),
		field("headers", "Headers that are added to every request.", table("header names", hidden(optionalText("a header's value"))), func(f *providerFile) *given[[]entry[string]] { return &f.headers }),
		field("tls", "Files for TLS.", object("tls", "Files for TLS, in PEM.", []key[tlsFile]{
			field("ca_file", "Certificates to trust besides the system's.", optionalText("a file name"), func(f *tlsFile) *given[string] { return &f.caFile }),
			field("cert_file", "Certificate that the gateway shows.", optionalText("a file name"), func(f *tlsFile) *given[string] { return &f.certFile }),
			field("key_file", "The certificate's private key.", optionalText("a file name"), func(f *tlsFile) *given[string] { return &f.keyFile }),
		}), func(f *providerFile) *given[tlsFile] { return &f.tls }),
		field("proxy", "URL of a proxy for this provider.", optionalText("a URL"), func(f *providerFile) *given[string] { return &f.proxy }),
		field("private", "Whether its host's name may lead to a private address. Without it: if the name itself says so, or class is local.", boolean(), func(f *providerFile) *given[bool] { return &f.private }),
		field("models", "The models it has; none: they are discovered.", list("model ids", text("a model id")), func(f *providerFile) *given[[]given[string]] { return &f.models }),
		field("timeouts", "Time limits for this provider.", timeoutsShape(), func(f *providerFile) *given[timeoutsFile] { return &f.timeouts }),
		field("resilience", "What differs from the global resilience settings.", object("overrides", "Resilience settings that differ from the global ones.", resilienceKeys()), func(f *providerFile) *given[resilienceFile] { return &f.resilience }),
		field("byok", "Whether callers bring their own key, in the header x-evergate-key-NAME: off, allow or require.", byokShape(), func(f *providerFile) *given[route.BYOK] { return &f.byok }),
		field("passthrough", "Whether it takes requests under /passthrough/NAME/.", choice(say("on", true), say("off", false)), func(f *providerFile) *given[bool] { return &f.passthrough }),
		field("limits", "What the gateways may use of it together at a time; who has used that is passed over while another is left.", limitsShape(), func(f *providerFile) *given[quota.Limits] { return &f.limits }),
		field("probe", "How it is found out, without a user's request, that it is back.", probeShape(), func(f *providerFile) *given[probeFile] { return &f.probe }),
		field("adaptive_concurrency", "Whether requests in flight are limited by what the provider bears.", off(), func(f *providerFile) *given[struct{}] { return &f.adaptive }),
		field("region", "bedrock: the AWS region. Without it AWS_REGION counts.", regionShape(), func(f *providerFile) *given[string] { return &f.region }),
		field("aws", "bedrock: what signs requests. Without it and without keys: the AWS default chain.", awsShape(), func(f *providerFile) *given[awsFile] { return &f.aws }),
		field("project", "vertex: the Google Cloud project. Without it GOOGLE_CLOUD_PROJECT counts.", text("a project's id"), func(f *providerFile) *given[string] { return &f.project }),
		field("location", "vertex: a region, us, eu or global. Without it GOOGLE_CLOUD_LOCATION counts.", regionShape(), func(f *providerFile) *given[string] { return &f.location }),
		field("credentials_file", "vertex: a service account's JSON key. Without it: application default credentials.", text("a file name"), func(f *providerFile) *given[string] { return &f.credentialsFile }),
		field("api_version", "azure-openai: the api-version of deployments. Without it: the v1 API.", apiVersionShape(), func(f *providerFile) *given[string] { return &f.apiVersion }),
		field("entra", "azure-openai: an application of Microsoft Entra ID, in place of keys.", entraShape(), func(f *providerFile) *given[entraFile] { return &f.entra }),
		field("attributes", "What is true of it, for policies.", attributesShape(), func(f *providerFile) *given[attributesFile] { return &f.attributes }),
	})
}

func keyShape() shape[keyFile] {
	long := object("key", "A credential.", []key[keyFile]{
		field("name", "Shown in logs, metrics and status. Without it: default, or key-1, key-2, …", text("a name"), func(f *keyFile) *given[string] { return &f.name }),
		field("value", "The secret itself; keep it in an environment variable.", secret("a key"), func(f *keyFile) *given[secretText] { return &f.value }),
		field("oauth", "In the value's place: where access tokens are asked for, and with what.", oauthShape(), func(f *keyFile) *given[oauthFile] { return &f.oauth }),
		field("weight", "Its share with key_strategy weighted.", whole(1, 1_000_000), func(f *keyFile) *given[int] { return &f.weight }),
		field("models", "The models it may be used for; none: all.", list("model ids", text("a model id")), func(f *keyFile) *given[[]given[string]] { return &f.models }),
	})
	return shorthand(secret("a key"), func(s given[secretText]) keyFile { return keyFile{value: s} }, long)
}

func modelShape() shape[modelFile] {
	return object("model", "A virtual model.", []key[modelFile]{
		field("strategy", "In which order the targets are tried.", choice(strategyWords()...), func(f *modelFile) *given[route.Strategy] { return &f.strategy }),
		field("auto", "What strategy auto goes by.", autoShape(), func(f *modelFile) *given[autoFile] { return &f.auto }),
		field("targets", "Where its requests may go.", list("targets such as provider/model", targetShape()), func(f *modelFile) *given[[]given[targetFile]] { return &f.targets }),
		field("timeouts", "Time limits for this model.", modelTimeoutsShape(), func(f *modelFile) *given[timeoutsFile] { return &f.timeouts }),
		field("hedge", "Starting a second target when the first is slow.", object("hedge", "Hedging; max: 0 is off.", []key[hedgeFile]{
			field("after", "How long a target may bring no content before another is started: auto (the larger of 10s and twice its 99th percentile; only targets of the same model), a duration, or a percentile such as p95.", hedgeAfterShape(), func(f *hedgeFile) *given[hedgeAfter] { return &f.after }),
			field("max", "How many more may be started for one request; 0 turns it off.", whole(0, 8), func(f *hedgeFile) *given[int] { return &f.max }),
			field("budget", "How many may be started, as a share of recent requests.", number(0, 1), func(f *hedgeFile) *given[float64] { return &f.budget }),
		}), func(f *modelFile) *given[hedgeFile] { return &f.hedge }),
		field("affinity", "Keeping a conversation at the target that served it last; not with strategy ordered.", affinityShape(), func(f *modelFile) *given[affinityFile] { return &f.affinity }),
		field("resume", "continue goes on elsewhere with a stream that broke, off ends it with an error.", resumeShape(), func(f *modelFile) *given[bool] { return &f.resume }),
		field("hold_down", "How long a primary stays second after it came back.", duration(0), func(f *modelFile) *given[time.Duration] { return &f.holdDown }),
		field("on", "Where requests go that a target refuses.", object("on", "Targets for refusals.", []key[onFile]{
			field("context_length", "Asked when a request is too long for a target.", list("targets such as provider/model", targetShape()), func(f *onFile) *given[[]given[targetFile]] { return &f.contextLength }),
			field("content_filter", "Asked when a target's provider refuses the content.", list("targets such as provider/model", targetShape()), func(f *onFile) *given[[]given[targetFile]] { return &f.contentFilter }),
		}), func(f *modelFile) *given[onFile] { return &f.on }),
		field("policy", "The policy of its requests, by name.", policyNameShape(), func(f *modelFile) *given[string] { return &f.policy }),
		field("guardrails", "The guardrails of its requests, by name.", guardrailNamesShape(), func(f *modelFile) *given[[]given[string]] { return &f.guardrails }),
		field("mirror", "Where a share of its requests is copied to, to try it out.", mirrorShape(), func(f *modelFile) *given[mirrorFile] { return &f.mirror }),
		field("cache", "How long its answers are kept, to be given again to the same request; without it none is.", modelCacheShape(), func(f *modelFile) *given[modelCacheFile] { return &f.cache }),
		field("limits", "What all callers may use of it together at a time.", limitsShape(), func(f *modelFile) *given[quota.Limits] { return &f.limits }),
		field("availability", "The share of its requests that is to be answered, such as 99.9%; the overview holds the model against it.", percentage(), func(f *modelFile) *given[float64] { return &f.availability }),
	})
}

func targetShape() shape[targetFile] {
	const want = "a target such as provider/model"
	long := object("target", "A provider's model, with what is particular to asking it there.", []key[targetFile]{
		field("target", "provider/model, or another virtual model.", text(want), func(f *targetFile) *given[string] { return &f.target }),
		field("weight", "Its share with strategy weighted.", number(0, 1e9), func(f *targetFile) *given[float64] { return &f.weight }),
		field("params", "Request fields that it overrides.", paramsShape(), func(f *targetFile) *given[[]wire.Param] { return &f.params }),
		field("disabled", "Takes it out of use.", boolean(), func(f *targetFile) *given[bool] { return &f.disabled }),
		field("timeouts", "Time limits for this target.", modelTimeoutsShape(), func(f *targetFile) *given[timeoutsFile] { return &f.timeouts }),
		field("base_model", "The model that a deployment's name hides, whose facts apply.", text("a model id"), func(f *targetFile) *given[string] { return &f.baseModel }),
		field("quirks", "What the target does otherwise than its provider's type.", object("quirks", "What a target does otherwise than its provider's type.", []key[quirksFile]{
			field("max_tokens_field", "The name of the output limit in chat completions.",
				choice(say("max_tokens", "max_tokens"), say("max_completion_tokens", "max_completion_tokens")), func(f *quirksFile) *given[string] { return &f.maxTokensField }),
			field("developer_role", "Whether system prompts go out as role developer.", boolean(), func(f *quirksFile) *given[bool] { return &f.developerRole }),
		}), func(f *targetFile) *given[quirksFile] { return &f.quirks }),
	})
	return shorthand(text(want), func(s given[string]) targetFile { return targetFile{target: s} }, long)
}

// timeoutsShape is the limits of a provider, a class or all of them.
func timeoutsShape() shape[timeoutsFile] {
	return limits(field("connect", "Connecting, TLS included.", duration(0), func(f *timeoutsFile) *given[time.Duration] { return &f.connect }))
}

// modelTimeoutsShape is the limits of a model or a target. Connections are the provider's, shared by all its models.
func modelTimeoutsShape() shape[timeoutsFile] { return limits(later[timeoutsFile]("connect")) }

func limits(connect key[timeoutsFile]) shape[timeoutsFile] {
	return object("timeouts", "Time limits; 0 is none.", []key[timeoutsFile]{
		connect,
		field("attempt", "A plain attempt, whole.", duration(0), func(f *timeoutsFile) *given[time.Duration] { return &f.attempt }),
		field("first_chunk", "A stream up to its first content.", duration(0), func(f *timeoutsFile) *given[time.Duration] { return &f.firstChunk }),
		field("idle", "A stream between two chunks.", duration(0), func(f *timeoutsFile) *given[time.Duration] { return &f.idle }),
		field("content_idle", "A stream between two pieces of content.", duration(0), func(f *timeoutsFile) *given[time.Duration] { return &f.contentIdle }),
		field("total", "A plain request whole, a stream up to its first content, over all attempts.", duration(0), func(f *timeoutsFile) *given[time.Duration] { return &f.total }),
		field("stream_total", "A stream, whole.", duration(0), func(f *timeoutsFile) *given[time.Duration] { return &f.streamTotal }),
	})
}
