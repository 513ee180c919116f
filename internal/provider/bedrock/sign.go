package bedrock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"evergate/internal/fault"
	"evergate/internal/provider"
)

// service is what requests to the Bedrock runtime are signed for.
const service = "bedrock"

// early is how long before their end temporary credentials are renewed.
const early = 5 * time.Minute

// signer signs requests (SigV4). It is safe for concurrent use.
type signer struct {
	region, profile string
	v4              *v4.Signer
	now             func() time.Time
	// load makes the default chain's provider of credentials.
	load func(ctx context.Context, region, profile string) (aws.CredentialsProvider, error)

	mu    sync.Mutex // held while the chain is set up, which is no network's work
	chain aws.CredentialsProvider
}

func newSigner(o Options) *signer {
	s := &signer{region: o.Region, profile: o.Profile, v4: v4.NewSigner(), now: time.Now, load: defaultChain}
	if o.AccessKeyID != "" {
		s.chain = credentials.NewStaticCredentialsProvider(o.AccessKeyID, o.SecretAccessKey.Reveal(), o.SessionToken.Reveal())
	}
	return s
}

// defaultChain is the AWS SDK's own, with its cache.
func defaultChain(ctx context.Context, region, profile string) (aws.CredentialsProvider, error) {
	options := []func(*config.LoadOptions) error{
		config.WithRegion(region),
		config.WithCredentialsCacheOptions(func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = early }),
	}
	if profile != "" {
		options = append(options, config.WithSharedConfigProfile(profile))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	return c.Credentials, err
}

// authorize signs a request. Without credentials the fault is Auth (R7): it rests like a refused key, and the provider's
// breaker knows nothing of it (R32).
func (s *signer) authorize(ctx context.Context, r *http.Request, body []byte, _ *provider.Credential) error {
	who, err := s.credentials(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &fault.Fault{Class: fault.Auth, Message: "no AWS credentials: neither the settings nor the AWS default chain have any that work", Cause: err}
	}
	sum := sha256.Sum256(body)
	url := *r.URL
	sign := &http.Request{Method: r.Method, URL: &url, Host: r.Host, Header: http.Header{}}
	// Only what nobody on the way has a reason to change is signed: host, type and AWS's own headers.
	for name, values := range r.Header {
		switch {
		case name == "X-Amz-Date", name == "X-Amz-Security-Token", name == "X-Amz-Content-Sha256":
			delete(r.Header, name)
		case name == "Content-Type", strings.HasPrefix(name, "X-Amz-"), strings.HasPrefix(name, "X-Amzn-"):
			sign.Header[name] = values
		}
	}
	if err := s.v4.SignHTTP(ctx, who, sign, hex.EncodeToString(sum[:]), service, s.region, s.now()); err != nil {
		return &fault.Fault{Class: fault.Auth, Message: "the request cannot be signed", Cause: err}
	}
	for _, name := range [...]string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token"} {
		if values, ok := sign.Header[name]; ok {
			r.Header[name] = values
		}
	}
	r.Host = sign.Host // the signer leaves out a default port
	return nil
}

// credentials gives the present ones. The chain is set up by the first request, and again by the next one if that failed.
func (s *signer) credentials(ctx context.Context) (aws.Credentials, error) {
	s.mu.Lock()
	if s.chain == nil {
		chain, err := s.load(context.WithoutCancel(ctx), s.region, s.profile)
		if err != nil {
			s.mu.Unlock()
			return aws.Credentials{}, err
		}
		s.chain = chain
	}
	chain := s.chain
	s.mu.Unlock()
	return chain.Retrieve(ctx)
}
