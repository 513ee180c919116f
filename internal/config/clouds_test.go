package config

import (
	"strings"
	"testing"

	"evergate/internal/provider"
)

// Where a cloud's provider is depends on its region or location, which its tools' variables name where the file does not.
func TestCloudPlaces(t *testing.T) {
	t.Parallel()
	env := map[string]string{"AWS_REGION": "us-west-2", "AWS_DEFAULT_REGION": "us-east-1", "GOOGLE_CLOUD_PROJECT": "env-project", "GOOGLE_CLOUD_LOCATION": "us-central1"}
	for _, tt := range []struct {
		yaml      string
		env       map[string]string
		url, more string // more: region, or project@location
	}{
		{"type: bedrock, region: eu-west-1", env, "https://bedrock-runtime.eu-west-1.amazonaws.com", "eu-west-1"},
		{"type: bedrock", env, "https://bedrock-runtime.us-west-2.amazonaws.com", "us-west-2"},
		{"type: bedrock", map[string]string{"AWS_DEFAULT_REGION": "us-east-1"}, "https://bedrock-runtime.us-east-1.amazonaws.com", "us-east-1"},
		{"type: bedrock, region: cn-north-1", nil, "https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "cn-north-1"},
		{"type: bedrock, base_url: 'https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com'", nil, "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"},
		{"type: bedrock, base_url: 'http://127.0.0.1:9', region: us-east-1", nil, "http://127.0.0.1:9", "us-east-1"},
		{"type: bedrock, base_url: 'http://127.0.0.1:9', api_key: k", nil, "http://127.0.0.1:9", ""},
		{"type: vertex, project: p, location: global", env, "https://aiplatform.googleapis.com/v1", "p@global"},
		{"type: vertex, project: p, location: us", env, "https://aiplatform.us.rep.googleapis.com/v1", "p@us"},
		{"type: vertex", env, "https://us-central1-aiplatform.googleapis.com/v1", "env-project@us-central1"},
		{"type: vertex, project: p, location: l, base_url: 'http://127.0.0.1:9'", nil, "http://127.0.0.1:9/v1", "p@l"},
		{"type: vertex, api_key: k", env, "https://aiplatform.googleapis.com/v1", ""},
	} {
		o := mustParse(t, "providers: { it: { "+tt.yaml+" } }", tt.env).Providers[0].Options
		more := o.Region
		if o.Project != "" {
			more = o.Project + "@" + o.Location
		}
		if o.BaseURL.String() != tt.url || more != tt.more || o.AuthHeader != "" {
			t.Errorf("%s: %s, %q, %q", tt.yaml, o.BaseURL, more, o.AuthHeader)
		}
	}
}

// Older versions of Azure's API refuse to be asked for usage in a stream.
func TestAzureStreamUsage(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"": true, ", api_version: v1": true, ", api_version: preview": true, ", api_version: 2024-10-21": true, ", api_version: 2024-06-01": false} {
		c := mustParse(t, "providers: { it: { type: azure-openai, base_url: 'https://it.example', api_key: k"+version+" } }", nil)
		if got := c.Providers[0].Options.StreamUsage; got != want {
			t.Errorf("%q: %t", version, got)
		}
	}
}

// How a cloud's provider is paid: by keys, by an account that is named, or by what its own tools find.
func TestCloudCredentials(t *testing.T) {
	t.Parallel()
	env := map[string]string{"AWS_REGION": "us-east-1", "AWS_BEARER_TOKEN_BEDROCK": "from-env", "AWS_ACCESS_KEY_ID": "other", "AWS_SECRET_ACCESS_KEY": "other"}
	for _, tt := range []struct {
		yaml  string
		key   provider.Secret
		aws   provider.AWS
		shown string // in the effective settings
	}{
		{"type: bedrock", "from-env", provider.AWS{}, "1"},
		{"type: bedrock, api_key: own", "own", provider.AWS{}, "1"},
		{"type: bedrock, aws: {}", "", provider.AWS{}, "AWS"},
		{"type: bedrock, aws: { profile: team }", "", provider.AWS{Profile: "team"}, "AWS"},
		{"type: bedrock, aws: { access_key_id: a, secret_access_key: b, session_token: '' }", "", provider.AWS{AccessKeyID: "a", SecretAccessKey: "b"}, "AWS"},
		{"type: vertex, project: p, location: global", "", provider.AWS{}, "Google"},
		{"type: azure-openai, base_url: 'https://it.example', entra: { tenant_id: t, client_id: c, client_secret: s }", "", provider.AWS{}, "Entra"},
		{"type: azure-openai, base_url: 'https://it.example', api_key: k", "k", provider.AWS{}, "1"},
	} {
		c := mustParse(t, "providers: { it: { "+tt.yaml+" } }", env)
		o := c.Providers[0].Options
		if len(o.Credentials) != 1 || o.Credentials[0].Name != "default" || o.Credentials[0].Value != tt.key || o.AWS != tt.aws {
			t.Errorf("%s: %v %+v", tt.yaml, o.Credentials, o.AWS)
		}
		row := strings.Split(c.Effective(), "\n")[1]
		if !strings.Contains(row, o.BaseURL.String()+"  "+tt.shown+" ") {
			t.Errorf("%s: shown as %s", tt.yaml, row)
		}
	}
	c := mustParse(t, "providers: { it: { type: bedrock, region: us-east-1 } }", nil)
	if o := c.Providers[0].Options; o.Credentials[0].Value != "" || o.AWS != (provider.AWS{}) {
		t.Errorf("the default chain: %+v", o)
	}
}
