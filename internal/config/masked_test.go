package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is shown of a file has none of its secrets, wherever they stand, and all else as it was written.
func TestMasked(t *testing.T) {
	t.Parallel()
	const text = `# api_key: sk-comment-secret
server: { listen: "127.0.0.1:8080" }
admin: { token: admin-secret-token }
state: { url: "redis://user:redis-secret@store:6379/0" }
auth:
  mode: keys
  keys:
    - { name: app, value: client-secret-1 }
    - { name: "on", value: "${CLIENT_KEY}" }
providers:
  openai:
    type: openai
    api_key: &shared sk-openai-secret
    base_url: "https://example.com/v1"
    proxy: "http://me:proxy-secret@proxy:3128/?tenant=query-secret"
    headers: { x-team: header-secret, x-other: "${HEADER}" }
    models: [gpt-4o, "1.5", "line\nbreak\u202e"]
  other:
    type: openai
    base_url: http://localhost:1/v1
    keys:
      - { name: sk-openai-secret-too, value: *shared, weight: 2 }
      - { name: default, value: "${OTHER:-default-secret}" }
    timeouts: { attempt: 5m }
models:
  smart: { targets: [openai/gpt-4o] }
`
	env := lookup(map[string]string{"CLIENT_KEY": "env-secret-1", "HEADER": "env-secret-2", "OTHER": "env-secret-3"})
	c, err := Parse("evergate.yaml", []byte(text), env)
	if err != nil {
		t.Fatal(err)
	}
	const want = `server:
  listen: "127.0.0.1:8080"
admin:
  token: "***"
state:
  url: "***"
auth:
  mode: keys
  keys:
    - name: app
      value: "***"
    - name: "on"
      value: "${CLIENT_KEY}"
providers:
  openai:
    type: openai
    api_key: "***"
    base_url: https://example.com/v1
    proxy: "http://***@proxy:3128/?tenant=***"
    headers:
      x-team: "***"
      x-other: "${HEADER}"
    models: [gpt-4o, "1.5", "line\nbreak\u202e"]
  other:
    type: openai
    base_url: http://localhost:1/v1
    keys:
      - name: "***-too"
        value: "***"
        weight: 2
      - name: default
        value: "***"
    timeouts:
      attempt: 5m
models:
  smart:
    targets: [openai/gpt-4o]
`
	if c.Text != want {
		t.Errorf("got\n%s", c.Text)
	}
}

// A password is hidden to its end, whatever is in it; what keys beginning with x- hold is not shown.
func TestMaskedAttacks(t *testing.T) {
	t.Parallel()
	const providers = "providers: { o: { x-old: [sk-older], type: openai, api_key: *k, base_url: 'http://localhost:1/v1', models: [m]%s } }\n"
	bomb := "x-0: &l0 [a, a, a, a, a, a, a, a, a, a]\n"
	for i := 1; i < 9; i++ {
		bomb += fmt.Sprintf("x-%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10), ", "))
	}
	for _, tt := range []struct{ name, text, secret string }{
		{"an at sign in a password", "x-k: &k key-secret\n" + fmt.Sprintf(providers, ", proxy: 'http://me:p@ss@word@proxy:3128'"), "word"},
		{"a question mark in a password", "x-k: &k key-secret\n" + fmt.Sprintf(providers, ", proxy: 'http://me:p%3Fss@proxy:3128'"), "ss@"},
		{"an old key", "x-k: &k key-secret\nx-old: { openai: sk-old-secret }\n" + fmt.Sprintf(providers, ""), "sk-old"},
		{"aliases of aliases", "x-k: &k key-secret\n" + bomb + fmt.Sprintf(providers, ""), "[a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse("evergate.yaml", []byte(tt.text), lookup(nil))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(c.Text, tt.secret) || strings.Contains(c.Text, "key-secret") || strings.Contains(c.Text, "sk-older") || !strings.Contains(c.Text, "localhost") {
				t.Errorf("%.500s", c.Text)
			}
		})
	}
}

// What is shown of the examples can be read again, and is then shown as before.
func TestMaskedIsYAML(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	more, _ := filepath.Glob("testdata/*.yaml")
	anything := func(string) (string, bool) { return "memory:", true }
	seen := 0
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := &reader{}
		root := readTree(&r.report, file, data, anything)
		if root == nil {
			continue
		}
		if _, ok := fileShape().read(r, root); !ok {
			continue
		}
		seen++
		text := masked(root)
		again := readTree(&r.report, file, []byte(text), anything)
		if again == nil {
			t.Fatalf("%s: cannot be read:\n%s", file, text)
		}
		if _, ok := fileShape().read(r, again); !ok || masked(again) != text {
			t.Errorf("%s: got\n%s\nwant\n%s", file, masked(again), text)
		}
	}
	if seen == 0 {
		t.Error("no example was read")
	}
}

// A scenario that somebody sends is played with the config in force or with its own, and has no file read and no variable.
func TestScenarioText(t *testing.T) {
	t.Parallel()
	const traffic = "\nduration: 1m\ntraffic: [{ model: m, rate: 1/s }]\n"
	const inline = "config: { providers: { p: { type: openai, base_url: 'http://localhost:1', api_key: '${SECRET}', models: [m] } } }"
	c, err := Parse("c.yaml", []byte("providers: { q: { type: openai, base_url: 'http://localhost:1', api_key: k, models: [m] } }"), lookup(nil))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(strings.TrimPrefix(inline, "config: ")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, provider, problem string }{
		{"the config in force", traffic, "q", ""},
		{"its own", inline + traffic, "p", ""},
		{"a file", "config: " + file + traffic, "", "names a file, and none is read here"},
		{"no scenario", "hello: world", "", "hello"},
		{"nothing", "", "", "empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ParseScenarioText([]byte(tt.text), c)
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || s.Gateway.Providers[0].Name != tt.provider {
				t.Errorf("%+v %v", s, err)
			}
		})
	}
}
