package config

import (
	"regexp"
	"time"

	"evergate/internal/provider"
	"evergate/internal/quota"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// file is the document as written: nothing inherited, nothing defaulted, references unchecked.
type file struct {
	server     given[serverFile]
	admin      given[adminFile]
	auth       given[authFile]
	log        given[logFile]
	state      given[stateFile]
	ledger     given[ledgerFile]
	cache      given[cacheFile]
	detect     given[bool]
	alerts     given[[]given[alertFile]]
	guardrails given[[]entry[guardrailFile]]
	// guardrailDefaults are names.
	guardrailDefaults given[[]given[string]]
	providers         given[[]entry[providerFile]]
	models            given[[]entry[modelFile]]
	failover          given[[]entry[[]given[string]]]
	catalog           given[[]entry[factsFile]]
	resilience        given[globalFile]
	timeouts          given[timeoutsFile]
	policies          given[[]entry[policyFile]]
	policy            given[string]
}

type serverFile struct {
	listen            given[string]
	maxRequestBody    given[int64]
	shutdownDelay     given[time.Duration]
	shutdownGrace     given[time.Duration]
	keepaliveInterval given[time.Duration]
	writeTimeout      given[time.Duration]
	front             frontFile
}

type adminFile struct {
	listen given[string]
	tls    given[listenerTLSFile]
	token  given[secretText]
	pprof  given[bool]
	drills given[bool]
}

type logFile struct {
	bodies  given[bool]
	maxBody given[int64]
	redact  given[[]given[*regexp.Regexp]]
	format  given[string]
	level   given[string]
}

type stateFile struct {
	url          given[secretText]
	syncInterval given[time.Duration]
	keepAnswers  given[bool]
}

type providerFile struct {
	typ         given[string]
	api         given[string]
	disabled    given[bool]
	baseURL     given[string]
	class       given[string]
	keyStrategy given[resilience.KeyStrategy]
	apiKey      given[secretText]
	byok        given[route.BYOK]
	passthrough given[bool]
	limits      given[quota.Limits]
	attributes  given[attributesFile]
	adaptive    given[struct{}]
	probe       given[probeFile]
	oauth       given[oauthFile]
	keys        given[[]given[keyFile]]
	headers     given[[]entry[string]]
	tls         given[tlsFile]
	proxy       given[string]
	private     given[bool]
	models      given[[]given[string]]
	timeouts    given[timeoutsFile]
	resilience  given[resilienceFile]

	// By type.
	region, project, location   given[string]
	apiVersion, credentialsFile given[string]
	aws                         given[awsFile]
	entra                       given[entraFile]
}

type awsFile struct {
	accessKeyID, secretAccessKey, sessionToken given[secretText]
	profile                                    given[string]
}

type entraFile struct {
	tenantID, clientID given[string]
	clientSecret       given[secretText]
}

type oauthFile struct {
	tokenURL, clientID         given[string]
	clientSecret, refreshToken given[secretText]
	scopes                     given[[]given[string]]
}

type keyFile struct {
	name   given[string]
	value  given[secretText]
	oauth  given[oauthFile]
	weight given[int]
	models given[[]given[string]]
}

type tlsFile struct {
	caFile, certFile, keyFile given[string]
}

type modelFile struct {
	on       given[onFile]
	strategy given[route.Strategy]
	auto     given[autoFile]
	targets  given[[]given[targetFile]]
	timeouts given[timeoutsFile]
	hedge    given[hedgeFile]
	affinity given[affinityFile]
	resume   given[bool]
	holdDown given[time.Duration]
	policy   given[string]
	mirror   given[mirrorFile]
	limits   given[quota.Limits]
	cache    given[modelCacheFile]

	guardrails given[[]given[string]]

	availability given[float64]
}

type autoFile struct{ health, latency, cost, headroom given[float64] }

type hedgeFile struct {
	after  given[hedgeAfter]
	max    given[int]
	budget given[float64]
}

// hedgeAfter is when a hedge is started: a time, or the percentile of a measured one, or neither for auto.
type hedgeAfter struct {
	wait       time.Duration
	percentile int
}

type onFile struct{ contextLength, contentFilter given[[]given[targetFile]] }

type targetFile struct {
	target   given[string]
	weight   given[float64]
	params   given[[]wire.Param]
	disabled given[bool]
	timeouts given[timeoutsFile]

	baseModel given[string]
	quirks    given[quirksFile]
}

type quirksFile struct {
	maxTokensField given[string]
	developerRole  given[bool]
}

// globalFile is the resilience: section of the whole file.
type globalFile struct {
	resilienceFile
	classes given[classesFile]
}

type classesFile struct{ oauth, apiKey, local given[classFile] }

// classFile is what a class overrides.
type classFile struct {
	resilienceFile
	timeouts given[timeoutsFile]
}

type resilienceFile struct {
	whenAllBlocked     given[resilience.WhenAllBlocked]
	passStatus         given[bool]
	retry              given[retryFile]
	breaker            given[breakerFile]
	cooldown           given[cooldownFile]
	credentialCooldown given[credentialCooldownFile]
	modelLockout       given[modelLockoutFile]
	classify           given[[]given[ruleFile]]
}

type retryFile struct {
	maxRetries     given[int]
	initialBackoff given[time.Duration]
	maxBackoff     given[time.Duration]
	backoffFactor  given[float64]
	jitterFactor   given[float64]
	sameTarget     given[int]
	maxWait        given[time.Duration]
	budget         given[float64]
	streams        given[bool]
}

type breakerFile struct {
	failureThreshold  given[int]
	successThreshold  given[int]
	timeout           given[time.Duration]
	halfOpenMaxProbes given[int]
	scope             given[resilience.Scope]
	ramp              given[time.Duration]
}

type cooldownFile struct {
	failures        given[int]
	window          given[time.Duration]
	minFailureRatio given[float64]
	base            given[time.Duration]
	factor          given[float64]
	max             given[time.Duration]
}

type credentialCooldownFile struct{ base, max, authBase, quotaBase given[time.Duration] }

type modelLockoutFile struct{ base, max given[time.Duration] }

type ruleFile struct {
	match given[matchFile]
	as    given[string]
}

type matchFile struct {
	provider given[string]
	status   given[int]
	code     given[string]
	message  given[string]
	kind     given[string]
}

// rule is the provider package's form of a classify rule.
func (f ruleFile) rule() provider.Rule {
	m := f.match.v
	return provider.Rule{
		Provider: m.provider.v, Status: m.status.v, Code: m.code.v, Message: m.message.v, Kind: m.kind.v, As: f.as.v,
	}
}

type timeoutsFile struct {
	connect, attempt, firstChunk, idle, contentIdle, total, streamTotal given[time.Duration]
}
