package azure

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"evergate/internal/provider"
)

// What is asked of Microsoft Entra ID (learn.microsoft.com/azure/ai-services/authentication).
const (
	authority = "https://login.microsoftonline.com"
	scope     = "https://cognitiveservices.azure.com/.default"
)

// authorize sends a credential's key, or the application's token where it has none.
func authorize(o *Options) func(context.Context, *http.Request, []byte, *provider.Credential) error {
	config := clientcredentials.Config{
		ClientID: o.Entra.ClientID, ClientSecret: o.Entra.ClientSecret.Reveal(), Scopes: []string{scope},
		TokenURL:  cmp.Or(o.Authority, authority) + "/" + url.PathEscape(o.Entra.TenantID) + "/oauth2/v2.0/token",
		AuthStyle: oauth2.AuthStyleInParams,
	}
	client := o.HTTP
	tokens := provider.NewTokens(func(ctx context.Context) (provider.Token, error) {
		if client != nil {
			ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
		}
		t, err := config.Token(ctx)
		if err != nil {
			return provider.Token{}, tokenFault(err)
		}
		return provider.Token{Value: provider.Secret(t.AccessToken), Expiry: t.Expiry}, nil
	})
	return func(ctx context.Context, r *http.Request, _ []byte, c *provider.Credential) error {
		if key := c.Value.Reveal(); key != "" {
			r.Header.Set("Api-Key", key)
			return nil
		}
		token, err := tokens.Get(ctx)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
		return nil
	}
}

// tokenFault says what an answer of the token endpoint means (R32).
func tokenFault(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		return provider.TokenFault(refused.Response.StatusCode, refused.ErrorCode, err)
	}
	return provider.TokenFault(0, "", err)
}
