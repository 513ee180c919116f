package config

import "time"

// variables are the global defaults that the environment sets (CONTRACT §2).
type variables struct {
	resilience       resilienceFile
	refresh, recheck given[time.Duration]
}

// readVariables reads them by the same shapes as the file; a variable that is unset or empty says nothing.
func readVariables(r *reader, env Lookup) *variables {
	var v variables
	v.resilience.retry.v, _ = retryShape().read(r, variableTable(env, [][2]string{
		{"max_retries", "RETRY_MAX_RETRIES"},
		{"initial_backoff", "RETRY_INITIAL_BACKOFF"},
		{"max_backoff", "RETRY_MAX_BACKOFF"},
		{"backoff_factor", "RETRY_BACKOFF_FACTOR"},
		{"jitter_factor", "RETRY_JITTER_FACTOR"},
	}))
	v.resilience.breaker.v, _ = breakerShape().read(r, variableTable(env, [][2]string{
		{"failure_threshold", "CIRCUIT_BREAKER_FAILURE_THRESHOLD"},
		{"success_threshold", "CIRCUIT_BREAKER_SUCCESS_THRESHOLD"},
		{"timeout", "CIRCUIT_BREAKER_TIMEOUT"},
	}))
	v.refresh = readVariable(r, env, "CACHE_REFRESH_INTERVAL", seconds())
	v.recheck = readVariable(r, env, "PROVIDER_RECHECK_INTERVAL", seconds())
	return &v
}

// Variables of the clouds' own tools, which stand in for what a provider of the file does not say.
func regionVariables() []string   { return []string{"AWS_REGION", "AWS_DEFAULT_REGION"} }
func projectVariables() []string  { return []string{"GOOGLE_CLOUD_PROJECT"} }
func locationVariables() []string { return []string{"GOOGLE_CLOUD_LOCATION"} }

// orVariable is what was written, or the first of the variables that is set.
func orVariable(r *reader, env Lookup, written given[string], s shape[string], names []string) given[string] {
	if !written.absent() {
		return written
	}
	for _, name := range names {
		if g := readVariable(r, env, name, s); !g.absent() {
			return g
		}
	}
	return written
}

// variableTable is a mapping whose values come from variables: key and variable name in pairs.
func variableTable(env Lookup, names [][2]string) *node {
	table := &node{kind: mapping, at: place{file: environment}}
	for _, n := range names {
		if value := variableNode(env, n[1]); value != nil {
			table.pairs = append(table.pairs, pair{key: n[0], at: value.at, value: value})
		}
	}
	return table
}

func variableNode(env Lookup, name string) *node {
	text, _ := env(name)
	if text == "" {
		return nil
	}
	return &node{kind: scalar, at: variablePlace(name), text: text, plain: true}
}

func variablePlace(name string) place { return place{file: environment, path: name} }

func readVariable[V any](r *reader, env Lookup, name string, s shape[V]) given[V] {
	n := variableNode(env, name)
	if n == nil {
		return given[V]{}
	}
	v, ok := s.read(r, n)
	return given[V]{v: v, set: ok, wrong: !ok, at: n.at}
}

// secretVariable reads a credential; it is marked as coming from the environment.
func secretVariable(r *reader, env Lookup, name string) given[secretText] {
	g := readVariable(r, env, name, secret("a key"))
	g.v.fromEnv = true
	return g
}
