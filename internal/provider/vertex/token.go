package vertex

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"evergate/internal/fault"
	"evergate/internal/provider"
)

// scope is what tokens are asked for.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// fetchTimeout bounds one request for a token.
const fetchTimeout = 20 * time.Second

// maxKeyFile is the largest credentials file that is read, in bytes.
const maxKeyFile = 1 << 20

// account pays requests with the access tokens of a Google account. Safe for concurrent use.
type account struct {
	file   string // empty: application default credentials
	client *http.Client
	tokens *provider.Tokens
	// quota is the project that a person's own credentials say is charged; nil: none.
	quota atomic.Pointer[string]
}

// authorize writes the token into a request.
func (a *account) authorize(ctx context.Context, r *http.Request, _ []byte, _ *provider.Credential) error {
	token, err := a.tokens.Get(ctx)
	if err != nil {
		return err
	}
	r.Header["Authorization"] = []string{"Bearer " + token.Reveal()}
	if q := a.quota.Load(); q != nil {
		r.Header["X-Goog-User-Project"] = []string{*q}
	}
	return nil
}

// fetch gets a new token. The file is read anew each time: keys are rotated by writing it.
func (a *account) fetch(ctx context.Context) (provider.Token, error) {
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if a.client != nil {
		client = *a.client
	}
	client.Timeout = fetchTimeout // the library's request for a service account's token does not keep to ctx
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &client)
	found, err := a.credentials(ctx)
	if err != nil {
		return provider.Token{}, &fault.Fault{Class: fault.Auth, Message: "no access token: " + publicWords(err), Cause: err}
	}
	token, err := found.TokenSource.Token()
	if err != nil {
		return provider.Token{}, tokenFault(err)
	}
	if q := quotaProject(found.JSON); q != "" {
		a.quota.Store(&q)
	}
	return provider.Token{Value: provider.Secret(token.AccessToken), Expiry: token.Expiry}, nil
}

func (a *account) credentials(ctx context.Context) (*google.Credentials, error) {
	if a.file == "" {
		found, err := google.FindDefaultCredentials(ctx, scope)
		if err != nil {
			return nil, errNoDefault{err}
		}
		return found, nil
	}
	data, kind, err := readKey(a.file)
	if err != nil {
		return nil, err
	}
	return google.CredentialsFromJSONWithType(ctx, data, kind, scope)
}

// errNoDefault says that application default credentials were looked for in vain.
type errNoDefault struct{ error }

// publicWords say why there are no credentials, without the names of files.
func publicWords(err error) string {
	var none errNoDefault
	if errors.As(err, &none) {
		return "there are no usable application default credentials"
	}
	return "the credentials file cannot be used"
}

// tokenFault says what a failed fetch means, in words without the request or the reply, which may hold secrets.
func tokenFault(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.Response == nil {
		return provider.TokenFault(0, "", err)
	}
	var said struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(refused.Body, &said) // without JSON there is no word
	word := strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, said.Error[:min(len(said.Error), 64)])
	status := refused.Response.StatusCode
	return provider.TokenFault(status, word, fmt.Errorf("token endpoint: %d %s %s", status, http.StatusText(status), word))
}

// quotaProject is the project that a credentials file says is charged.
func quotaProject(data []byte) string {
	var file struct {
		QuotaProject string `json:"quota_project_id"`
	}
	_ = json.Unmarshal(data, &file) // metadata servers give none
	return file.QuotaProject
}

// readKey reads and checks a credentials file. No error holds anything of what the file says but its type.
func readKey(name string) ([]byte, google.CredentialsType, error) {
	data, err := os.ReadFile(name) //nolint:gosec // the operator names the file
	var file struct {
		Type       google.CredentialsType `json:"type"`
		Email      string                 `json:"client_email"`
		PrivateKey string                 `json:"private_key"`
	}
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("credentials file %s does not exist", name)
	case errors.As(err, &pe):
		return nil, "", fmt.Errorf("credentials file %s cannot be read: %w", name, pe.Err)
	case err != nil:
		return nil, "", fmt.Errorf("credentials file %s cannot be read: %w", name, err)
	case len(data) > maxKeyFile:
		return nil, "", fmt.Errorf("credentials file %s is larger than 1 MiB", name)
	case json.Unmarshal(data, &file) != nil:
		return nil, "", fmt.Errorf("credentials file %s is no JSON object with credentials", name)
	}
	switch file.Type {
	case google.ServiceAccount:
		if file.Email == "" || file.PrivateKey == "" {
			return nil, "", fmt.Errorf("credentials file %s is no key of a service account: client_email or private_key is missing", name)
		}
		if !rsaKey(file.PrivateKey) {
			return nil, "", fmt.Errorf("credentials file %s: private_key is no RSA key in PEM", name)
		}
	case google.AuthorizedUser, google.ExternalAccount, google.ExternalAccountAuthorizedUser, google.ImpersonatedServiceAccount:
	case "":
		return nil, "", fmt.Errorf("credentials file %s has no type; it must be a JSON key of a service account, or another that Google's libraries read", name)
	default:
		return nil, "", fmt.Errorf("credentials file %s has the unknown type %.40q", name, file.Type)
	}
	return data, file.Type, nil
}

// rsaKey says whether a text is a private key that tokens can be asked with.
func rsaKey(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return true
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	_, is := key.(*rsa.PrivateKey)
	return err == nil && is
}
