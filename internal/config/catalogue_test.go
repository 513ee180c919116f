package config

import (
	"testing"
	"time"

	"evergate/internal/modelfacts"
	"evergate/internal/route"
)

const withCatalog = `
providers:
  openai: { type: openai, api_key: k }
  groq: { type: groq, api_key: k }
  house: { type: vllm, base_url: "http://127.0.0.1:8000/v1" }
  corp: { type: azure-openai, base_url: "https://corp.openai.azure.com", api_key: k }
models:
  mixed: { targets: [openai/gpt-4o, groq/openai/gpt-oss-20b, house/qwen, { target: corp/prod-1, base_model: gpt-5-mini }, { target: corp/prod-2 }] }
  nest: { targets: [mixed] }
failover: { openai/gpt-4o: [openai/o3] }
catalog:
  gpt-4o: { input_price: 2, context_window: 64000 }
  openai/gpt-4o: { output_price: 8, input: [text] }
  qwen: { context_window: 32768, tools: false, reasoning: true, output_price: 0 }
  openai/gpt-oss-20b: { cache_read_price: 0.01 }
`

// What the user says stands before the catalogue, and base_model before a deployment's name.
func TestCatalog(t *testing.T) {
	t.Parallel()
	c := mustParse(t, withCatalog, nil)
	targets := c.Table.Virtual["mixed"].Targets
	four := targets[0].Facts
	if four.Prices.Input.USD != 2 || four.Prices.Output.USD != 8 || four.ContextWindow != 64000 || four.Input != modelfacts.Text || four.OutputLimit != 16384 {
		t.Errorf("openai/gpt-4o: %+v", four)
	}
	// openai is a provider here: what is said is of its own gpt-oss-20b, not of Groq's.
	if oss := targets[1].Facts; oss.Prices.CacheRead.USD != 0.0375 {
		t.Errorf("groq/openai/gpt-oss-20b: %+v", oss)
	}
	if qwen := targets[2].Facts; qwen.Tools != modelfacts.No || qwen.ContextWindow != 32768 || qwen.Prices.Output != (modelfacts.Price{Known: true}) {
		t.Errorf("house/qwen: %+v", qwen)
	}
	if hidden := targets[3].Facts; hidden == nil || hidden.ID != "gpt-5-mini" {
		t.Errorf("corp/prod-1: %+v", hidden)
	}
	if unknown := targets[4].Facts; unknown != nil {
		t.Errorf("corp/prod-2: %+v", unknown)
	}
	if inner := c.Table.Virtual["nest"].Targets[3].Facts; inner == nil || inner.ID != "gpt-5-mini" {
		t.Errorf("within another model: %+v", inner)
	}
	if named, _ := c.Table.Resolve(nil, "groq/openai/gpt-oss-20b"); named.Targets[0].Facts.ID != "openai/gpt-oss-20b" {
		t.Errorf("by its own name: %+v", named.Targets[0].Facts)
	}
	if rule := c.Table.Failover["openai/gpt-4o"][0].Facts; rule == nil || rule.ID != "o3" {
		t.Errorf("of a rule: %+v", rule)
	}
}

// A model that is known to reason has longer limits, unless anybody set them (R56).
func TestModelsThatReasonHaveLongerLimits(t *testing.T) {
	t.Parallel()
	const head = "providers: { openai: { type: openai, api_key: k"
	for _, tt := range []struct {
		name, yaml          string
		model               string // by its own name; empty: the virtual one, v
		attempt, firstChunk time.Duration
	}{
		{"nothing set", head + " } }", "openai/o3", 10 * time.Minute, 5 * time.Minute},
		{"a dated id", head + " } }", "openai/o3-2025-04-16", 10 * time.Minute, 5 * time.Minute},
		{"it does not reason", head + " } }", "openai/gpt-4o", time.Minute, time.Minute},
		{"nobody knows", head + " } }", "openai/new", time.Minute, time.Minute},
		{"set globally", head + " } }\ntimeouts: { attempt: 60s }", "openai/o3", time.Minute, 5 * time.Minute},
		{"by class", head + " } }\nresilience: { classes: { api_key: { timeouts: { first_chunk: 20s } } } }", "openai/o3", 10 * time.Minute, 20 * time.Second},
		{"by provider", head + ", timeouts: { attempt: 90s, first_chunk: 70s } } }", "openai/o3", 90 * time.Second, 70 * time.Second},
		{"by the user's word", head + " } }\ncatalog: { new: { reasoning: true } }", "openai/new", 10 * time.Minute, 5 * time.Minute},
		{"in a virtual model", head + " } }\nmodels: { v: { targets: [openai/o3] } }", "", 10 * time.Minute, 5 * time.Minute},
		{"under another name", head + " } }\nmodels: { v: { targets: [{ target: openai/x, base_model: o3 }] } }", "", 10 * time.Minute, 5 * time.Minute},
		{"by virtual model", head + " } }\nmodels: { v: { targets: [openai/o3], timeouts: { attempt: 3m } } }", "", 3 * time.Minute, 5 * time.Minute},
		{"by target", head + " } }\nmodels: { v: { targets: [{ target: openai/o3, timeouts: { first_chunk: 2m } }] } }", "", 10 * time.Minute, 2 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := mustParse(t, tt.yaml, nil)
			var target route.Target
			if tt.model == "" {
				target = c.Table.Virtual["v"].Targets[0]
			} else {
				r, _ := c.Table.Resolve(nil, tt.model)
				target = r.Targets[0]
			}
			if l := target.Timeouts; l.Attempt != tt.attempt || l.FirstChunk != tt.firstChunk || l.Idle != 30*time.Second {
				t.Errorf("%+v", l)
			}
		})
	}
}
