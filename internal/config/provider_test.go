package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ typ, in, want string }{
		{"openai", "https://api.openai.com", "https://api.openai.com/v1"},
		{"openai", "https://api.openai.com/", "https://api.openai.com/v1"},
		{"openai", "https://api.openai.com/v1", "https://api.openai.com/v1"},
		{"openai", "https://api.openai.com/v1/", "https://api.openai.com/v1"},
		{"openai", "http://127.0.0.1:4000/v1", "http://127.0.0.1:4000/v1"},
		{"openai", "https://gateway.example/openai", "https://gateway.example/openai/v1"},
		{"openai", "https://gateway.example/v2beta", "https://gateway.example/v2beta"},
		{"openai", "https://gateway.example/v1/account/openai", "https://gateway.example/v1/account/openai"},
		{"openai", "https://gateway.example/vendors", "https://gateway.example/vendors/v1"},
		{"openai-compatible", "http://[::1]:8080", "http://[::1]:8080/v1"},
		{"openai-compatible", "http://[fe80::1%25eth0]:8080/v1", "http://[fe80::1%25eth0]:8080/v1"},
		{"openai-compatible", "https://api.perplexity.ai", "https://api.perplexity.ai"},
		{"openai-compatible", "https://models.github.ai/inference/", "https://models.github.ai/inference"},
		{"openai-compatible", "https://host.example/a%2Fb", "https://host.example/a%2Fb/v1"},
		{"groq", "https://api.groq.com", "https://api.groq.com/openai/v1"},
		{"groq", "https://api.groq.com/openai", "https://api.groq.com/openai/v1"},
		{"groq", "http://127.0.0.1:9", "http://127.0.0.1:9/v1"},
		{"zai", "https://api.z.ai/api/coding/paas/v4", "https://api.z.ai/api/coding/paas/v4"},
		{"zai", "http://127.0.0.1:9", "http://127.0.0.1:9/v4"},
		{"gemini-openai", "https://generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta/openai"},
		{"perplexity", "http://127.0.0.1:9", "http://127.0.0.1:9"},
		{"ollama", "http://gpu:11434", "http://gpu:11434/v1"},
		{"anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1"},
		{"anthropic", "https://api.anthropic.com/v1/", "https://api.anthropic.com/v1"},
		{"anthropic", "https://api.z.ai/api/anthropic", "https://api.z.ai/api/anthropic/v1"},
		{"anthropic", "https://gateway.example/v1/account/anthropic", "https://gateway.example/v1/account/anthropic/v1"},
		{"gemini", "http://127.0.0.1:9", "http://127.0.0.1:9/v1beta"},
		{"gemini", "https://generativelanguage.googleapis.com/v1", "https://generativelanguage.googleapis.com/v1"},
		{"cohere", "https://api.cohere.com", "https://api.cohere.com/v2"},
		{"azure-openai", "https://it.openai.azure.com/", "https://it.openai.azure.com/openai"},
		{"azure-openai", "https://it.openai.azure.com/openai", "https://it.openai.azure.com/openai"},
		{"azure-openai", "https://it.openai.azure.com/openai/v1/", "https://it.openai.azure.com/openai"},
		{"azure-openai", "https://apim.example/llm%2Fx", "https://apim.example/llm%2Fx/openai"},
		{"vertex", "https://us-central1-aiplatform.googleapis.com", "https://us-central1-aiplatform.googleapis.com/v1"},
		{"vertex", "https://us-central1-aiplatform.googleapis.com/v1beta1", "https://us-central1-aiplatform.googleapis.com/v1beta1"},
		{"bedrock", "https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com/", "https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com"},
	} {
		t.Run(tc.typ+" "+tc.in, func(t *testing.T) {
			t.Parallel()
			u, wrong, _ := baseURL(tc.in, presetNamed(tc.typ))
			if wrong != "" {
				t.Fatal(wrong)
			}
			if u.String() != tc.want {
				t.Errorf("baseURL = %s, want %s", u, tc.want)
			}
		})
	}
}

// Every preset is complete, and its own base URL is left as it is.
func TestPresets(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range presets() {
		if seen[p.name] {
			t.Errorf("%s is there twice", p.name)
		}
		seen[p.name] = true
		if p.baseURL == "" {
			continue
		}
		u, wrong, _ := baseURL(p.baseURL, p)
		if wrong != "" || u.String() != p.baseURL {
			t.Errorf("%s: baseURL(%s) = %v, %s", p.name, p.baseURL, u, wrong)
		}
		if local := p.class == classLocal; local != loopback(u.Hostname()) || local != (u.Scheme == "http") || p.keyEnv == "" || (local && p.urlEnv == "") {
			t.Errorf("%s is odd: %+v", p.name, p)
		}
		c := mustParse(t, `{ server: { listen: "127.0.0.1:1" }, providers: { it: { type: `+p.name+", api_key: x } } }", nil)
		if got := c.Providers[0]; got.Options.BaseURL.String() != p.baseURL || got.Class != p.class || got.Options.StreamUsage != p.streamUsage {
			t.Errorf("%s became %v %s", p.name, got.Options.BaseURL, got.Class)
		}
	}
	for _, name := range strings.Fields("openai openai-compatible anthropic gemini vertex azure-openai bedrock cohere groq mistral deepseek xai together fireworks openrouter cerebras perplexity ollama vllm llamacpp lmstudio") {
		if !seen[name] {
			t.Errorf("the contract's %s is missing", name)
		}
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		env  map[string]string
		want []string // found
		urls []string
	}{
		{"nothing", map[string]string{"PATH": "/bin", "OPENAI_API_KEY": ""}, nil, nil},
		{"a key", map[string]string{"OPENAI_API_KEY": "x"}, []string{"openai (OPENAI_API_KEY)"}, []string{"https://api.openai.com/v1"}},
		{
			"the order of the table",
			map[string]string{"OLLAMA_BASE_URL": "http://gpu:11434", "GROQ_API_KEY": "y", "OPENAI_API_KEY": "x"},
			[]string{"openai (OPENAI_API_KEY)", "groq (GROQ_API_KEY)", "ollama (OLLAMA_BASE_URL)"},
			[]string{"https://api.openai.com/v1", "https://api.groq.com/openai/v1", "http://gpu:11434/v1"},
		},
		{"a base URL with its key", map[string]string{"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "https://proxy.example/v1"}, []string{"openai (OPENAI_API_KEY)"}, []string{"https://proxy.example/v1"}},
		{"a near server needs no key", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, []string{"openai (OPENAI_BASE_URL)"}, []string{"http://127.0.0.1:9/v1"}},
		{"a far one does", map[string]string{"OPENAI_BASE_URL": "https://proxy.example/v1"}, nil, nil},
		{"a local preset by URL alone", map[string]string{"OLLAMA_API_KEY": "x"}, nil, nil},
		{"tokens for other uses", map[string]string{"GITHUB_TOKEN": "x", "HF_TOKEN": "y"}, nil, nil},
		{
			"native types",
			map[string]string{"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": "https://proxy.example/anthropic", "GEMINI_API_KEY": "y", "GOOGLE_API_KEY": "other", "COHERE_API_KEY": "z"},
			[]string{"anthropic (ANTHROPIC_API_KEY)", "gemini (GEMINI_API_KEY)", "cohere (COHERE_API_KEY)"},
			[]string{"https://proxy.example/anthropic/v1", "https://generativelanguage.googleapis.com/v1beta", "https://api.cohere.com/v2"},
		},
		{"Google's other variable", map[string]string{"GOOGLE_API_KEY": "y"}, []string{"gemini (GOOGLE_API_KEY)"}, []string{"https://generativelanguage.googleapis.com/v1beta"}},
		{
			"clouds",
			map[string]string{"AZURE_OPENAI_API_KEY": "x", "AZURE_OPENAI_ENDPOINT": "https://it.openai.azure.com/", "AWS_BEARER_TOKEN_BEDROCK": "y", "AWS_REGION": "eu-west-1"},
			[]string{"azure-openai (AZURE_OPENAI_API_KEY)", "bedrock (AWS_BEARER_TOKEN_BEDROCK)"},
			[]string{"https://it.openai.azure.com/openai", "https://bedrock-runtime.eu-west-1.amazonaws.com"},
		},
		{"clouds without their place", map[string]string{"AZURE_OPENAI_API_KEY": "x", "AWS_BEARER_TOKEN_BEDROCK": "y"}, nil, nil},
		{"AWS for other purposes", map[string]string{"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_REGION": "us-east-1", "GOOGLE_CLOUD_PROJECT": "p"}, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, found, err := Detect(lookup(tc.env))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, found); diff != "" {
				t.Error(diff)
			}
			if (c == nil) != (len(tc.want) == 0) {
				t.Fatalf("Detect = %v", c)
			}
			if c == nil {
				return
			}
			var urls []string
			for _, p := range c.Providers {
				urls = append(urls, p.Options.BaseURL.String())
			}
			if diff := cmp.Diff(tc.urls, urls); diff != "" {
				t.Error(diff)
			}
			if len(c.Table.Providers) != len(urls) || c.Server.Listen != "127.0.0.1:8080" || c.File != "" {
				t.Errorf("Detect = %+v", c)
			}
		})
	}
}

// Each of the variables named to a user makes a provider by itself.
func TestDetectionVariables(t *testing.T) {
	t.Parallel()
	names := DetectionVariables()
	if len(names) < 20 || names[0] != "OPENAI_API_KEY" {
		t.Errorf("DetectionVariables = %v", names)
	}
	for _, name := range names {
		c, found, err := Detect(lookup(map[string]string{name: "http://127.0.0.1:1"}))
		if err != nil || len(found) != 1 || len(c.Providers) != 1 || !strings.HasSuffix(found[0], "("+name+")") {
			t.Errorf("%s: found %v, %v", name, found, err)
		}
	}
}

// What is found is checked like a file, and the messages name the variable.
func TestDetectProblems(t *testing.T) {
	t.Parallel()
	_, found, err := Detect(lookup(map[string]string{"OPENAI_API_KEY": "two words", "GROQ_API_KEY": "x", "GROQ_BASE_URL": "api.groq.com", "RETRY_MAX_RETRIES": "x"}))
	want := strings.Join([]string{
		`environment: RETRY_MAX_RETRIES: "x" must be a whole number from 0 to 100`,
		`environment: OPENAI_API_KEY: holds a space, a line break or a control character, which no credential has; give the bare value, without a prefix such as Bearer`,
		`environment: GROQ_BASE_URL: must begin with http:// or https://; did you mean http://api.groq.com?`,
	}, "\n")
	if err == nil {
		t.Fatalf("no problems; found %v", found)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

// With a file, detection is asked for, and the file's providers win.
func TestDetectWithFile(t *testing.T) {
	t.Parallel()
	env := map[string]string{"OPENAI_API_KEY": "x", "GROQ_API_KEY": "y", "MISTRAL_API_KEY": "z", "XAI_API_KEY": "w", "EVERGATE_ADMIN_TOKEN": "tok"}
	const file = "providers: { groq: { type: openai, api_key: a }, mine: { type: mistral, api_key: b } }\n"
	for detect, want := range map[string][]string{
		"": {"groq", "mine"}, "detect: false": {"groq", "mine"},
		"detect: true": {"groq", "mine", "xai"}, // not groq, by its name; not openai and mistral, by their type
	} {
		c := mustParse(t, file+detect, env)
		var got []string
		for _, p := range c.Providers {
			got = append(got, p.Options.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", detect, diff)
		}
		if c.Admin.Token != "tok" {
			t.Errorf("admin token = %q", c.Admin.Token.Reveal())
		}
	}
	c := mustParse(t, "detect: true", env)
	if len(c.Providers) != 4 {
		t.Errorf("found %v", c.Providers)
	}
}

func TestUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0": 0, "0s": 0, "500ms": 500 * time.Millisecond, "30s": 30 * time.Second, "1h": time.Hour, "1h30m": 90 * time.Minute, "1.5s": 1500 * time.Millisecond} {
		c := mustParse(t, "providers: { o: { type: openai, api_key: x } }\ntimeouts: { idle: "+text+" }", nil)
		if c.Timeouts.Idle != want {
			t.Errorf("%s = %v", text, c.Timeouts.Idle)
		}
	}
	for text, want := range map[string]int64{"1024": 1024, "1024B": 1024, "32MiB": 32 << 20, "10MB": 10_000_000, "1 KiB": 1024, "2kb": 2000, "1GiB": 1 << 30, "1GB": 1_000_000_000} {
		c := mustParse(t, "providers: { o: { type: openai, api_key: x } }\nserver: { max_request_body: "+text+" }", nil)
		if c.Server.MaxRequestBody != want {
			t.Errorf("%s = %v", text, c.Server.MaxRequestBody)
		}
	}
	for d, want := range map[time.Duration]string{0: "0", time.Second: "1s", time.Minute: "1m", time.Hour: "1h", 90 * time.Minute: "1h30m", 90 * time.Second: "1m30s", 500 * time.Millisecond: "500ms", 10*time.Minute + 500*time.Millisecond: "10m0.5s"} {
		if got := formatDuration(d); got != want {
			t.Errorf("formatDuration(%v) = %s, want %s", d, got, want)
		}
	}
}

// An address that others can reach needs auth, and a token for the admin API; a flag is held to the same rules.
func TestExposure(t *testing.T) {
	t.Parallel()
	const providers = "\nproviders: { o: { type: openai, api_key: x } }"
	for _, tc := range []struct {
		name, yaml string
		ok         bool
	}{
		{"loopback", `server: { listen: "127.0.0.1:1" }`, true},
		{"loopback v6", `server: { listen: "[::1]:1" }`, true},
		{"localhost", `server: { listen: "localhost:1" }`, true},
		{"open", `server: { listen: "0.0.0.0:1" }`, false},
		{"no host is all of them", `server: { listen: ":1" }`, false},
		{"keys but no token", "server: { listen: \":1\" }\nauth: { keys: [ { name: a, value: b } ] }", false},
		{"keys and token", "server: { listen: \":1\" }\nauth: { keys: [ { name: a, value: b } ] }\nadmin: { token: t }", true},
		{"keys and admin elsewhere", "server: { listen: \":1\" }\nauth: { keys: [ { name: a, value: b } ] }\nadmin: { listen: \"127.0.0.1:2\" }", true},
		{"anonymous on purpose", "server: { listen: \":1\" }\nauth: { allow_anonymous: true }\nadmin: { token: t }", true},
		{"open admin", `admin: { listen: ":2" }`, false},
		{"open admin with token", `admin: { listen: ":2", token: t }`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("evergate.yaml", []byte(tc.yaml+providers), lookup(nil))
			if (err == nil) != tc.ok {
				t.Errorf("Parse: %v", err)
			}
		})
	}
	c := mustParse(t, providers, nil)
	if moved, err := c.WithListen("127.0.0.1:0"); err != nil || moved.Server.Listen != "127.0.0.1:0" || c.Server.Listen == moved.Server.Listen {
		t.Errorf("WithListen = %v, %v", moved, err)
	}
	for _, addr := range []string{"0.0.0.0:1", "nonsense"} {
		if moved, err := c.WithListen(addr); err == nil || moved != nil || !strings.HasPrefix(err.Error(), "--listen: ") {
			t.Errorf("WithListen(%s) = %v, %v", addr, moved, err)
		}
	}
	for addr, want := range map[string]string{":8080": "http://127.0.0.1:8080", "0.0.0.0:1": "http://127.0.0.1:1", "[::1]:1": "http://[::1]:1", "gate:1": "http://gate:1"} {
		if got := (Server{Listen: addr}).PublicURL(); got != want {
			t.Errorf("PublicURL of %s = %s, want %s", addr, got, want)
		}
	}
}
