package app

import (
	"slices"

	"evergate/internal/provider"
	"evergate/internal/provider/anthropic"
	"evergate/internal/provider/azure"
	"evergate/internal/provider/bedrock"
	"evergate/internal/provider/cohere"
	"evergate/internal/provider/gemini"
	"evergate/internal/provider/openai"
	"evergate/internal/provider/vertex"
)

// vendorOf makes what is particular to a provider's type. Every other type is OpenAI-compatible; adding one is adding a
// case. dial is as in provider.New.
func vendorOf(o *provider.Options, dial dialFunc) (*provider.Vendor, error) {
	switch o.Type {
	case "anthropic":
		return anthropic.New(), nil
	case "gemini":
		return gemini.New(), nil
	case "cohere":
		return cohere.New(), nil
	case "azure-openai":
		client, err := provider.NewHTTPClient(o, dial)
		if err != nil {
			return nil, err
		}
		return azure.New(azure.Options{APIVersion: o.APIVersion, API: o.API, Entra: o.Entra, HTTP: client})
	case "bedrock":
		return bedrock.New(bedrock.Options{
			Region: o.Region, Bearer: hasKeys(o) || hasGrants(o), AccessKeyID: o.AWS.AccessKeyID, SecretAccessKey: o.AWS.SecretAccessKey,
			SessionToken: o.AWS.SessionToken, Profile: o.AWS.Profile,
		})
	case "vertex":
		client, err := provider.NewHTTPClient(o, dial)
		if err != nil {
			return nil, err
		}
		return vertex.New(vertex.Options{
			Project: o.Project, Location: o.Location, APIKeys: hasKeys(o), CredentialsFile: o.CredentialsFile, HTTP: client,
		})
	default:
		return openai.New(openai.Options{Type: o.Type, API: o.API}), nil
	}
}

// hasKeys says whether a provider is paid with keys of its own, not with what its platform's libraries find.
func hasKeys(o *provider.Options) bool {
	for _, c := range o.Credentials {
		if c.Value != "" {
			return true
		}
	}
	return false
}

// hasGrants says whether a provider is paid with OAuth access tokens.
func hasGrants(o *provider.Options) bool {
	return slices.ContainsFunc(o.Credentials, func(c provider.Credential) bool { return c.OAuth != nil })
}
