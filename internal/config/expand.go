package config

import (
	"errors"
	"fmt"
	"strings"
)

// Lookup gives the value of an environment variable and whether it is set, as os.LookupEnv does.
type Lookup = func(name string) (string, bool)

// expand puts environment variables into one scalar: ${NAME}, or ${NAME:-default} where the default also stands in
// for an empty value, as in a shell. What a variable holds is taken as it is, never expanded again; a $ that no {
// follows is a plain $; $${NAME} gives ${NAME}. All names that are missing are reported in one error. changed says
// whether anything but an escape was replaced.
func expand(s string, env Lookup) (out string, changed bool, err error) {
	if !strings.Contains(s, "${") {
		return s, false, nil
	}
	var b strings.Builder
	var errs []error
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), changed, errors.Join(errs...)
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return "", true, errors.New("${ is not closed; write ${NAME}, or $${ for a literal ${")
		}
		value, err := variable(s[i+2:i+end], env)
		if err != nil {
			errs = append(errs, err)
		}
		b.WriteString(value)
		changed = true
		s = s[i+end+1:]
	}
}

// variable resolves what stands between ${ and }.
func variable(expr string, env Lookup) (string, error) {
	name, fallback, hasFallback := strings.Cut(expr, ":-")
	switch {
	case !isVariable(name):
		return "", fmt.Errorf("%q is not the name of an environment variable; write ${NAME} or ${NAME:-default}, or $${ for a literal ${", name)
	case strings.Contains(fallback, "${"):
		return "", fmt.Errorf("the default of ${%s:-…} cannot hold ${…} itself", name)
	}
	value, set := env(name)
	switch {
	case hasFallback && value == "":
		return fallback, nil
	case !set:
		return "", fmt.Errorf("the environment variable %s is not set; set it, or write ${%s:-default}", name, name)
	}
	return value, nil
}

func isVariable(s string) bool {
	for i, r := range s {
		letter := r == '_' || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z')
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
