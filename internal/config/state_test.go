package config

import (
	"testing"

	"evergate/internal/provider"
)

// Nobody who looks at the store's address sees a password, wherever it stands.
func TestStateWhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, kind, where string }{
		{"memory:", "memory", "memory:"},
		{"sqlite:evergate.db", "sqlite", "sqlite:evergate.db"},
		{"redis://store:6379/0", "redis", "redis://store:6379/0"},
		{"rediss://user:hunter2@store:6379/0?sentinel_password=hunter2", "redis", "rediss://***@store:6379/0"},
		{"redis://user:hun#ter2@store:6379", "redis", "redis://***@store:6379"},
		{"valkey://:hun@ter/2?@a:1,b:2?cluster=true", "redis", "valkey://***@a:1,b:2"},
		{"postgres://user:hunter2@h1,h2:5433/db?sslpassword=hunter2", "postgres", "postgres://***@h1,h2:5433/db"},
		{"redis://store:6379/0?sentinel_password=hun@ter2", "redis", "redis://***"},
		{"postgres://h:5432/db?password=hun@ter2&sslpassword=hunter2", "postgres", "postgres://***"},
		{"postgresql:///db?host=/run/postgresql&password=hunter2", "postgres", "postgresql:///db"},
	} {
		s := State{URL: provider.Secret(c.url)}
		if s.Kind() != c.kind || s.Where() != c.where {
			t.Errorf("%s is %s at %s, want %s at %s", c.url, s.Kind(), s.Where(), c.kind, c.where)
		}
	}
	for url, want := range map[string]string{"sqlite:a/b.db": "a/b.db", "sqlite:/a/b.db": "/a/b.db", "sqlite:///a/b c.db": "/a/b c.db"} {
		if got := (State{URL: provider.Secret(url)}).File(); got != want {
			t.Errorf("%s is %s, want %s", url, got, want)
		}
	}
}
