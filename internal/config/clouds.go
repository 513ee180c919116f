package config

import (
	"net/url"
	"regexp"
	"strings"

	"evergate/internal/provider"
)

// regionWord is the form of an AWS region, and of a location of Google's: it becomes a part of a host's name.
var regionWord = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func regionShape() shape[string] {
	return single("a region", map[string]any{"type": "string", "minLength": 1}, func(s string) (string, string, string) {
		switch {
		case regionWord.MatchString(s):
			return s, "", ""
		case regionWord.MatchString(strings.ToLower(s)):
			return "", "is no region", strings.ToLower(s)
		}
		return "", "is no region, such as us-east-1", ""
	})
}

// apiVersion is the form of Azure's api-version.
var apiVersion = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}(-preview)?$`)

// sinceStreamUsage is the api-version that first knew stream_options; those before it refuse the field.
const sinceStreamUsage = "2024-09-01"

func apiVersionShape() shape[string] {
	return single("an api-version", map[string]any{"type": "string", "minLength": 1}, func(s string) (string, string, string) {
		if s == "v1" || s == "preview" || s == "latest" || apiVersion.MatchString(s) {
			return s, "", ""
		}
		return "", "is no api-version; it must be a date such as 2024-10-21 or 2025-04-01-preview, or v1, preview or latest", ""
	})
}

func awsShape() shape[awsFile] {
	return object("aws", "What signs requests to AWS.", []key[awsFile]{
		field("access_key_id", "The id of an access key.", secret("an access key's id"), func(f *awsFile) *given[secretText] { return &f.accessKeyID }),
		field("secret_access_key", "The access key's secret.", secret("an access key's secret"), func(f *awsFile) *given[secretText] { return &f.secretAccessKey }),
		field("session_token", "Goes with a temporary access key.", secret("a token"), func(f *awsFile) *given[secretText] { return &f.sessionToken }),
		field("profile", "The profile of the AWS default chain.", text("a profile's name"), func(f *awsFile) *given[string] { return &f.profile }),
	})
}

func entraShape() shape[entraFile] {
	return object("entra", "An application of Microsoft Entra ID.", []key[entraFile]{
		field("tenant_id", "The tenant's id or domain.", text("a tenant's id"), func(f *entraFile) *given[string] { return &f.tenantID }),
		field("client_id", "The application's id.", text("an application's id"), func(f *entraFile) *given[string] { return &f.clientID }),
		field("client_secret", "The application's secret.", secret("a secret"), func(f *entraFile) *given[secretText] { return &f.clientSecret }),
	})
}

// checkFields reports settings that the provider's type does not take, which would have no effect.
func (b *builder) checkFields(f *providerFile, p preset) {
	if p.name == "" {
		return // it has been reported
	}
	for _, own := range []struct {
		at      place
		written bool
		takes   bool
		types   string
	}{
		{f.api.at, !f.api.absent(), !p.native || p.name == azure, "openai, openai-compatible, their presets and azure-openai"},
		{f.region.at, !f.region.absent(), p.name == bedrock, bedrock},
		{f.aws.at, !f.aws.absent(), p.name == bedrock, bedrock},
		{f.project.at, !f.project.absent(), p.name == vertex, vertex},
		{f.location.at, !f.location.absent(), p.name == vertex, vertex},
		{f.credentialsFile.at, !f.credentialsFile.absent(), p.name == vertex, vertex},
		{f.apiVersion.at, !f.apiVersion.absent(), p.name == azure, azure},
		{f.entra.at, !f.entra.absent(), p.name == azure, azure},
	} {
		if !own.written || own.takes {
			continue
		}
		word := "type "
		if strings.Contains(own.types, ",") {
			word = "types "
		}
		b.problem(own.at, "", "belongs to %s%s; remove it, or change the type, which is %s", word, own.types, p.name)
	}
}

// cloud puts what is particular to a type into a provider's options, among it a base URL that depends on a region.
func (b *builder) cloud(e entry[providerFile], o *provider.Options) {
	f := &e.v
	if o.Type == "" {
		return
	}
	if p := presetNamed(o.Type); !p.native || p.name == azure {
		o.API = f.api.or("auto")
	}
	switch o.Type {
	case azure:
		o.APIVersion = f.apiVersion.v
		if apiVersion.MatchString(o.APIVersion) && o.APIVersion < sinceStreamUsage {
			o.StreamUsage = false
		}
		o.Entra = b.entra(f, len(withValue(o.Credentials)) > 0 || withOAuth(o.Credentials))
	case bedrock:
		b.bedrock(e, o)
	case vertex:
		b.vertex(e, o)
	}
}

// withValue are the credentials that are keys.
func withValue(all []provider.Credential) []provider.Credential {
	var out []provider.Credential
	for _, c := range all {
		if c.Value != "" {
			out = append(out, c)
		}
	}
	return out
}

func (b *builder) entra(f *providerFile, keys bool) provider.Entra {
	w := f.entra.v
	if !f.entra.set {
		return provider.Entra{}
	}
	if keys {
		b.problem(f.entra.at, "", "stands beside a key; remove one of the two")
	}
	if w.tenantID.absent() || w.clientID.absent() || w.clientSecret.absent() {
		b.problem(f.entra.at, "", "needs all of tenant_id, client_id and client_secret")
	}
	b.notEmpty(w.clientSecret, "set the variable")
	return provider.Entra{TenantID: w.tenantID.v, ClientID: w.clientID.v, ClientSecret: w.clientSecret.v.value}
}

// notEmpty reports a secret that was written and is empty; a variable that is set to nothing is the usual reason.
func (b *builder) notEmpty(s given[secretText], fix string) {
	if s.set && s.v.value == "" {
		b.problem(s.at, "", "is empty; %s", fix)
	}
}

// bedrockHost gives the region of Bedrock's own hosts.
var bedrockHost = regexp.MustCompile(`^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$`)

func (b *builder) bedrock(e entry[providerFile], o *provider.Options) {
	f := &e.v
	bearer := len(withValue(o.Credentials)) > 0 || withOAuth(o.Credentials)
	if f.aws.set && bearer {
		b.problem(f.aws.at, "", "stands beside a key; keys are Bedrock API keys, aws signs requests: remove one of the two")
	}
	if !bearer {
		o.AWS = b.aws(f.aws)
	}
	region := orVariable(b.reader, b.env, f.region, regionShape(), regionVariables())
	if o.Region = region.v; o.Region == "" && o.BaseURL != nil {
		if m := bedrockHost.FindStringSubmatch(o.BaseURL.Hostname()); m != nil {
			o.Region = m[1]
		}
	}
	if o.Region == "" {
		if !region.wrong && (o.BaseURL == nil && !f.baseURL.wrong || !bearer) {
			b.problem(e.at, "", "has no region; add region: us-east-1, or set AWS_REGION")
		}
		return
	}
	if o.BaseURL == nil && f.baseURL.absent() {
		host := "bedrock-runtime." + o.Region + ".amazonaws.com"
		if strings.HasPrefix(o.Region, "cn-") {
			host += ".cn"
		}
		o.BaseURL = &url.URL{Scheme: "https", Host: host}
	}
}

func (b *builder) aws(f given[awsFile]) provider.AWS {
	const fix = "set the variable, or remove aws to use the AWS default chain"
	w := f.v
	b.notEmpty(w.accessKeyID, fix)
	b.notEmpty(w.secretAccessKey, fix)
	switch id, secret := !w.accessKeyID.absent(), !w.secretAccessKey.absent(); {
	case id != secret:
		b.problem(f.at, "", "needs both of access_key_id and secret_access_key")
	case !id && w.sessionToken.v.value != "":
		b.problem(w.sessionToken.at, "", "goes with access_key_id and secret_access_key; add them")
	case id && w.profile.set:
		b.problem(w.profile.at, "", "stands beside access_key_id; remove one of the two")
	}
	return provider.AWS{
		AccessKeyID: w.accessKeyID.v.value.Reveal(), SecretAccessKey: w.secretAccessKey.v.value, SessionToken: w.sessionToken.v.value,
		Profile: w.profile.v,
	}
}

func (b *builder) vertex(e entry[providerFile], o *provider.Options) {
	f := &e.v
	oauth := withOAuth(o.Credentials)
	if oauth && !f.credentialsFile.absent() {
		b.problem(f.credentialsFile.at, "", "stands beside oauth; remove one of the two")
	}
	if keys := withValue(o.Credentials); oauth && len(keys) > 0 { // their routes are not the same
		b.problem(e.at, "", "has API keys and oauth side by side, which Vertex asks in different places; make two providers of them")
	}
	if len(withValue(o.Credentials)) > 0 { // API keys know their project
		for _, g := range []given[string]{f.project, f.location, f.credentialsFile} {
			if !g.absent() {
				b.problem(g.at, "", "stands beside a key; with API keys Vertex takes no project, location or credentials_file: remove it, or the key")
			}
		}
		o.BaseURL = b.vertexBase(o.BaseURL, f, "global")
		return
	}
	project := orVariable(b.reader, b.env, f.project, text("a project's id"), projectVariables())
	location := orVariable(b.reader, b.env, f.location, regionShape(), locationVariables())
	if project.absent() {
		b.problem(e.at, "", "has no project; add project: my-project, or set GOOGLE_CLOUD_PROJECT")
	}
	if location.absent() {
		b.problem(e.at, "", "has no location; add location: global, or a region such as us-central1, or set GOOGLE_CLOUD_LOCATION")
	}
	o.Project, o.Location, o.CredentialsFile = project.v, location.v, f.credentialsFile.v
	o.BaseURL = b.vertexBase(o.BaseURL, f, location.v)
}

// vertexBase is the base URL that was written, or that of a location: each region has a host of its own.
func (*builder) vertexBase(written *url.URL, f *providerFile, location string) *url.URL {
	if written != nil || !f.baseURL.absent() || location == "" {
		return written
	}
	host := location + "-aiplatform.googleapis.com"
	switch location {
	case "global":
		host = "aiplatform.googleapis.com"
	case "us", "eu": // several regions at once
		host = "aiplatform." + location + ".rep.googleapis.com"
	}
	return &url.URL{Scheme: "https", Host: host, Path: "/v1"}
}
