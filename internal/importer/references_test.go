package importer

import (
	"strings"
	"testing"
)

// A secret of the source and a variable that the source names, or that is meant where it says nothing, are two, also where both would have one name.
func TestLiteralsAndReferencesAreTwo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, second, want string }{
		{"the source names it", "api_key: os.environ/OPENAI_API_KEY", "${OPENAI_API_KEY}"},
		{"it is meant", "organization: other", "${OPENAI_API_KEY_2}"},
	} {
		source := "model_list:\n" +
			"  - model_name: one\n    litellm_params: {model: openai/gpt-4o, api_key: sk-literal-0123456789}\n" +
			"  - model_name: two\n    litellm_params: {model: openai/gpt-4o-mini, " + tt.second + "}\n"
		result, err := Convert(Source{Format: "litellm", Name: "a.yaml", Data: []byte(source)})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := string(result.YAML); len(result.Report.Variables) != 2 || !strings.Contains(got, `"`+tt.want+`"`) || !strings.Contains(got, `"${OPENAI_API_KEY}"`) || !strings.Contains(got, "OPENAI_API_KEY_2") {
			t.Errorf("%s: %+v\n%s", tt.name, result.Report.Variables, got)
		}
	}
}

// What a reference says for the case that its variable is not set is carried over where it is no secret, and else left out, which the report says.
func TestDefaultsOfReferences(t *testing.T) {
	t.Parallel()
	source := `
server: {master_key: "${MASTER:-LITERAL-SECRET-master}"}
storage: {type: postgresql, postgresql: {url: "${DB:-postgres://u:LITERAL-SECRET-db@db/x}"}}
providers:
  openai: {type: openai, api_key: "${OPENAI_KEY:-LITERAL-SECRET-key}", base_url: "${OPENAI_URL:-https://u:LITERAL-SECRET-url@host.example/v1}"}
  groq: {type: groq, api_key: "${GROQ_KEY}", base_url: "${GROQ_URL:-https://groq.example/v1}"}
`
	result, err := Convert(Source{Format: "gomodel", Name: "c.yaml", Data: []byte(source)})
	if err != nil {
		t.Fatal(err)
	}
	said := string(result.YAML) + result.Report.Text()
	if strings.Contains(said, "LITERAL-SECRET") || !strings.Contains(said, `"${GROQ_URL:-https://groq.example/v1}"`) {
		t.Error(said)
	}
	for _, name := range []string{"MASTER", "DB", "OPENAI_KEY", "OPENAI_URL"} {
		if !strings.Contains(said, "default in plain text, which is left out; set the variable "+name+"\n") {
			t.Errorf("%s is not spoken of:\n%s", name, said)
		}
	}
}

// A secret that stands where no secret is expected is found by its form, or by the name of what has it.
func TestSecretsWhereNoneIsExpected(t *testing.T) {
	t.Parallel()
	for _, src := range []Source{
		{Format: "litellm", Name: "a.yaml", Data: []byte(`
model_list:
  - model_name: one
    litellm_params:
      model: openai/gpt-4o
      api_key: os.environ/OPENAI_API_KEY
      max_tokens: 100
      user: sk-proj-LITERAL-SECRET-0123456789
      extra_body: {api_key: LITERAL-SECRET-1, nested: {auth: LITERAL-SECRET-2, list: ["Bearer LITERAL-SECRET-012345"], eos_token: "</s>"}}
`)},
		{Format: "portkey", Name: "b.json", Data: []byte(`{"provider":"openai","api_key":"LITERAL-SECRET-key","custom_host":"https://h.example/v1/sk-proj-LITERAL-SECRET-0123456789",
			"override_params":{"model":"gpt-4o","max_tokens":100,"metadata":{"token":"LITERAL-SECRET-3","eos_token":"</s>"}}}`)},
	} {
		result, err := Convert(src)
		if err != nil {
			t.Fatalf("%s: %v", src.Name, err)
		}
		said := string(result.YAML) + result.Report.Text()
		if strings.Contains(said, "LITERAL-SECRET") || !strings.Contains(said, "max_tokens: 100") || !strings.Contains(said, `eos_token: "</s>"`) {
			t.Errorf("%s: %s", src.Name, said)
		}
	}
}

// Credentials of which the secret is missing are left to be written by hand.
func TestCredentialsWithoutTheirSecret(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, format, text, says string }{
		{"litellm", "litellm", "model_list: [{model_name: m, litellm_params: {model: azure/gpt-4o, api_base: 'https://x.openai.azure.com', tenant_id: t, client_id: os.environ/CLIENT, azure_ad_token: os.environ/AD_TOKEN}}]", "client_id: stands without a client_secret"},
		{"bifrost azure", "bifrost", `{"providers":{"azure":{"keys":[{"name":"k","value":"env.AZURE_KEY","models":["gpt-4o"],"azure_key_config":{"endpoint":"https://x.openai.azure.com","tenant_id":"t","client_id":"env.CLIENT"}}]}}}`, "client_id: stands without a client_secret"},
		{"bifrost bedrock", "bifrost", `{"providers":{"bedrock":{"keys":[{"name":"k","models":["m"],"bedrock_key_config":{"region":"us-east-1","access_key":"env.ACCESS"}}]}}}`, "access_key: stands without a secret_key"},
	} {
		result, err := Convert(Source{Format: tt.format, Name: "x", Data: []byte(tt.text)})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if report := result.Report.Text(); !strings.Contains(report, tt.says) || strings.Contains(string(result.YAML), "entra") || strings.Contains(string(result.YAML), "aws") {
			t.Errorf("%s: %s\n%s", tt.name, report, result.YAML)
		}
	}
}

// A caller's key never may more than in the source: one whose providers are all left out is left out with them, and if no key is left, nobody is let in.
func TestKeyOfProvidersThatAreLeftOut(t *testing.T) {
	t.Parallel()
	const head = `{"providers":{"openai":{"keys":[{"name":"k","value":"env.OPENAI_KEY","models":["*"]}]},"nobody":{"keys":[{"name":"n","value":"env.N"}]}},"governance":{"virtual_keys":[`
	const narrow = `{"id":"1","name":"narrow","value":"env.VK1","provider_configs":[{"provider":"nobody","allowed_models":["*"]}]}`
	for _, tt := range []struct{ name, keys, has, lacks string }{
		{"beside another", narrow + `,{"id":"2","name":"both","value":"env.VK2","provider_configs":[{"provider":"nobody"},{"provider":"openai"}]}`, "providers: [openai]", "narrow"},
		{"all of them", `{"id":"3","name":"any","value":"env.VK3","provider_configs":[{"provider":"*"}]}`, "any", "providers: ["},
		{"alone", narrow, "mode: keys", "narrow"},
	} {
		result, err := Convert(Source{Format: "bifrost", Name: "x", Data: []byte(head + tt.keys + `]}}`)})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := string(result.YAML); !strings.Contains(got, tt.has) || strings.Contains(got, tt.lacks) || strings.Contains(tt.keys, "narrow") && !strings.Contains(result.Report.Text(), "make one by hand") {
			t.Errorf("%s: %s\n%s", tt.name, result.Report.Text(), got)
		}
	}
}
