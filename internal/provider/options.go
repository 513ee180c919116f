package provider

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Secret is a credential's value. It never prints itself.
type Secret string

// String hides the value.
func (Secret) String() string { return "<secret>" }

// GoString hides the value from %#v.
func (Secret) GoString() string { return "<secret>" }

// MarshalJSON hides the value.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"<secret>"`), nil }

// MarshalText hides the value (YAML and text encoders).
func (Secret) MarshalText() ([]byte, error) { return []byte("<secret>"), nil }

// Reveal gives the value, for the one place that writes it into an upstream request.
func (s Secret) Reveal() string { return string(s) }

// Credential is one key of a provider.
type Credential struct {
	Name   string
	Value  Secret // empty: requests carry no credential (local servers)
	OAuth  *OAuth // in the value's place; nil: none
	Weight int    // 0 counts as 1
	Models []string
}

// Options are what an adapter needs to talk to one provider; all values are checked and complete.
type Options struct {
	Name string
	// Type is the provider's type or preset as configured, such as "openai" or "groq".
	Type string
	// BaseURL ends with the version segment and without a slash, such as https://api.openai.com/v1.
	BaseURL *url.URL
	// AuthHeader and AuthPrefix say how the credential is sent, such as Authorization and "Bearer "; without a header it
	// is sent as the vendor has it.
	AuthHeader, AuthPrefix string
	Credentials            []Credential
	Headers                map[string]Secret // they may hold credentials
	TLS                    TLS
	Proxy                  *url.URL
	// Private lets names that it is reached by lead to private addresses (reach.Options).
	Private        bool
	ConnectTimeout time.Duration
	// StreamUsage: the provider knows stream_options.include_usage.
	StreamUsage bool
	Classify    []Rule
	// Vendor is what is particular to the provider's type; nil: Compatible.
	Vendor *Vendor

	// What follows is for the constructors of single vendors; empty elsewhere. Client does not look at it.

	// API is which of OpenAI's two APIs for generations the provider is asked in: auto (or empty), chat, responses.
	API string
	// Region is the AWS region (bedrock).
	Region string
	AWS    AWS
	// Project and Location say where in Google's cloud a model is asked (vertex).
	Project, Location string
	// CredentialsFile is Google's JSON key file; empty: application default credentials (vertex).
	CredentialsFile string
	// APIVersion is the api-version of Azure's deployments; empty: its v1 API (azure-openai).
	APIVersion string
	Entra      Entra
}

// secrets are all values that no text may show.
func (o *Options) secrets() []Secret {
	var out []Secret
	for _, c := range o.Credentials {
		out = append(out, c.Value)
		if c.OAuth != nil {
			out = append(out, c.OAuth.ClientSecret, c.OAuth.RefreshToken)
		}
	}
	for name, v := range o.Headers {
		if name = http.CanonicalHeaderKey(name); !credentialHeader(name) {
			continue // what is no credential may be in any text
		}
		value := v.Reveal()
		if _, rest, ok := strings.Cut(value, " "); ok && strings.HasSuffix(name, "Authorization") {
			value = rest // the scheme is none
		}
		out = append(out, Secret(value))
	}
	if o.Proxy != nil {
		if password, ok := o.Proxy.User.Password(); ok {
			out = append(out, Secret(password))
		}
	}
	return append(out, o.AWS.SecretAccessKey, o.AWS.SessionToken, o.Entra.ClientSecret)
}

// AWS are credentials that sign requests. Without an access key they come from the AWS default chain, of the profile
// if one is named.
type AWS struct {
	AccessKeyID                   string
	SecretAccessKey, SessionToken Secret
	Profile                       string
}

// Entra is an application in Microsoft Entra ID that asks for tokens; the zero value is none.
type Entra struct {
	TenantID, ClientID string
	ClientSecret       Secret
}

// TLS are file names, read when the adapter is made.
type TLS struct{ CAFile, CertFile, KeyFile string }

// Rule is one of the user's classify rules (CONTRACT §2): the first that matches wins. Empty fields match anything.
type Rule struct {
	Provider string
	Status   int
	Code     string // exact, the upstream's error code or type
	Message  string // a regular expression on the upstream's message
	Kind     string // timeout, connect, reset, invalid
	As       string // failure, next, rate_limit, auth, quota, model, client
}
