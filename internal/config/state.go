package config

import (
	"slices"
	"strings"
	"time"

	"evergate/internal/nearest"
	"evergate/internal/provider"
)

// State says where the guards' state is kept, and how often instances exchange it.
type State struct {
	// URL is one of the schemes of stores, or DefaultState. It may hold a password: Where is for those who look.
	URL          provider.Secret
	SyncInterval time.Duration
	// KeepAnswers has the answers that the gateway keeps for clients archived there, too.
	KeepAnswers bool
}

// DefaultState keeps the state in a file in the working directory; NoState in the process alone.
const (
	DefaultState = "sqlite:evergate.db"
	NoState      = "memory:"
)

// schemes are what stores are named by. A file's name follows sqlite:, after the others comes the address of a server.
func schemes() []string {
	return []string{
		"memory", "sqlite", "redis", "rediss", "redis+sentinel", "rediss+sentinel", "valkey", "valkeys", "postgres", "postgresql",
	}
}

// Kind is what kind of store it is: memory, sqlite, redis (Valkey too) or postgres.
func (s State) Kind() string {
	scheme, _, _ := strings.Cut(s.URL.Reveal(), ":")
	switch {
	case strings.HasPrefix(scheme, "redis"), strings.HasPrefix(scheme, "valkey"):
		return "redis"
	case strings.HasPrefix(scheme, "postgres"):
		return "postgres"
	}
	return scheme
}

// Where is the URL without user, password and options.
func (s State) Where() string {
	scheme, rest, ok := strings.Cut(s.URL.Reveal(), "://")
	if !ok {
		return s.URL.Reveal() // a file, or memory
	}
	user := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 { // before the rest: a password that is not encoded may have the other signs in it
		if _, options, _ := strings.Cut(rest[:at], "?"); strings.Contains(options, "=") { // it may stand in the password of an option
			return scheme + "://***"
		}
		user, rest = "***@", rest[at+1:]
	}
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	return scheme + "://" + user + rest
}

// File is the name of the file of a sqlite: URL.
func (s State) File() string {
	name := strings.TrimPrefix(s.URL.Reveal(), "sqlite:")
	if abs, ok := strings.CutPrefix(name, "//"); ok {
		return abs
	}
	return name
}

// stateURL is a store's address. Nothing of it is shown where it is wrong: a password may be anywhere in it.
func stateURL() shape[secretText] {
	const want = "memory:, sqlite:FILE, or an address that begins with redis://, rediss://, valkey://, valkeys://, postgres:// or postgresql://"
	schema := map[string]any{"type": "string", "pattern": "^(memory:$|sqlite:|(" + strings.ReplaceAll(strings.Join(schemes()[2:], "|"), "+", `\+`) + ")://)"}
	return shape[secretText]{
		read: func(r *reader, n *node) (secretText, bool) {
			n.hidden = true
			if !r.enter(n) {
				return secretText{}, false
			}
			if n.kind != scalar {
				r.problem(n.at, "", "must be %s, not %s", want, n.kind)
				return secretText{}, false
			}
			if wrong, suggestion := wrongState(n.text); wrong != "" {
				r.problem(n.at, suggestion, "%s", strings.ReplaceAll(wrong, "WANT", want))
				return secretText{}, false
			}
			return secretText{value: provider.Secret(n.text)}, true
		},
		schema: func(*schemas) map[string]any { return orFromEnv(schema) },
	}
}

// wrongState says what is wrong with a store's address, and what may have been meant.
func wrongState(url string) (wrong, suggestion string) {
	scheme, rest, ok := strings.Cut(url, ":")
	switch {
	case url == "":
		return "is empty; it must be WANT", ""
	case strings.ContainsFunc(url, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "holds a line break or a control character; it must be WANT", ""
	case !ok:
		if slices.Contains(schemes(), scheme) {
			suggestion = scheme + ":"
		}
		return "names no store; it must be WANT", suggestion
	case !slices.Contains(schemes(), scheme):
		if near := nearest.Names(scheme, schemes(), 1); len(near) > 0 {
			suggestion = near[0] + ":"
		}
		return "names a store that there is not; it must be WANT", suggestion
	case scheme == "memory":
		if rest != "" {
			return "has something after memory:, which keeps nothing anywhere", NoState
		}
	case scheme == "sqlite":
		return wrongFile(rest)
	case !strings.HasPrefix(rest, "//") || len(rest) == len("//"):
		return "has no address; after " + scheme + ":// come host and port", ""
	}
	return "", ""
}

// wrongFile says what is wrong with what follows sqlite:.
func wrongFile(name string) (wrong, suggestion string) {
	switch {
	case name == "" || strings.Trim(name, "/") == "":
		return "names no file; say sqlite:FILE, such as " + DefaultState, ""
	case strings.HasPrefix(name, ":memory:") || strings.HasPrefix(name, "file:"):
		return "is no name of a file; say sqlite:FILE, or memory: to keep the state in the process alone", NoState
	case strings.HasPrefix(name, "//") && !strings.HasPrefix(name, "///"):
		return "has a host, but SQLite is a file of this machine; say sqlite:FILE or sqlite:///absolute/file", ""
	}
	return "", ""
}

// state is what the section comes to. Where the file names no store, the variable counts.
func (b *builder) state(variable string) State {
	url := b.file.state.v.url
	if url.absent() {
		url = readVariable(b.reader, b.env, variable, stateURL())
	}
	return State{
		URL: url.or(secretText{value: DefaultState}).value, SyncInterval: b.file.state.v.syncInterval.or(defaultSyncInterval),
		KeepAnswers: b.file.state.v.keepAnswers.or(true),
	}
}
