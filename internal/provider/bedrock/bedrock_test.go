package bedrock

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/provider"
)

func TestNew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		o     Options
		wrong string
	}{
		"the default chain": {Options{Region: "us-east-1"}, ""},
		"a key":             {Options{Region: "us-east-1", AccessKeyID: "a", SecretAccessKey: "hunter2"}, ""},
		"API keys":          {Options{Bearer: true}, ""},
		"no region":         {Options{}, "region"},
		"half a key":        {Options{Region: "us-east-1", SecretAccessKey: "hunter2"}, "one of the two"},
	} {
		v, err := New(tt.o)
		if (err == nil) != (tt.wrong == "") || err != nil && (!strings.Contains(err.Error(), tt.wrong) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (v.Authorize == nil) != tt.o.Bearer {
			t.Errorf("%s: signs: %t", name, v.Authorize != nil)
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model, path string
		maker       llm.Vendor
		speaks      []string
	}{
		{"anthropic.claude-3-haiku-20240307-v1:0", "/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse", llm.Anthropic, []string{converse}},
		{"global.anthropic.claude-sonnet-4-5-20250929-v1:0", "/model/global.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse", llm.Anthropic, []string{converse}},
		{"us-gov.amazon.nova-pro-v1:0", "/model/us-gov.amazon.nova-pro-v1%3A0/converse", llm.Amazon, []string{converse}},
		{"cohere.command-r-v1:0", "/model/cohere.command-r-v1%3A0/converse", llm.Cohere, []string{converse}},
		{"openai.gpt-oss-120b-1:0", "/model/openai.gpt-oss-120b-1%3A0/converse", llm.OpenAI, []string{converse}},
		{"us.meta.llama3-2-90b-instruct-v1:0", "/model/us.meta.llama3-2-90b-instruct-v1%3A0/converse", "", []string{converse}},
		{
			"arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-20250514-v1:0",
			"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Feu.anthropic.claude-sonnet-4-20250514-v1%3A0/converse",
			llm.Anthropic,
			[]string{converse},
		},
		{"arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3", "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fa1b2c3/converse", "", []string{converse}},
		{"amazon.titan-embed-text-v2:0", "/model/amazon.titan-embed-text-v2%3A0/invoke", llm.Amazon, []string{titanEmbed}},
		{"us.cohere.embed-v4:0", "/model/us.cohere.embed-v4%3A0/invoke", llm.Cohere, []string{cohereEmbed}},
		{"arn:aws:bedrock:us-east-1::foundation-model/cohere.embed-english-v3", "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A%3Afoundation-model%2Fcohere.embed-english-v3/invoke", llm.Cohere, []string{cohereEmbed}},
		{"amazon.nova-2-multimodal-embeddings-v1:0", "/model/amazon.nova-2-multimodal-embeddings-v1%3A0/invoke", llm.Amazon, []string{novaEmbed}},
		{"cohere.rerank-v3-5:0", "", llm.Cohere, nil},
	} {
		if got := speaks(tt.model); !slices.Equal(got, tt.speaks) {
			t.Errorf("%s speaks %v", tt.model, got)
		}
		if got := maker(tt.model); got != tt.maker {
			t.Errorf("%s is made by %q", tt.model, got)
		}
		if len(tt.speaks) == 0 {
			continue
		}
		if got, query := place(tt.speaks[0], tt.model, false); got != tt.path || query != "" {
			t.Errorf("%s goes to %s?%s", tt.model, got, query)
		}
	}
	if got, _ := place(converse, "m", true); got != "/model/m/converse-stream" {
		t.Error(got)
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ header, body, want string }{
		{"ThrottlingException", `{"message":"x"}`, "ThrottlingException"},
		{"ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/", "", "ValidationException"},
		{"", `{"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"x"}`, "UnrecognizedClientException"},
		{"", `{"__type":"ExpiredTokenException"}`, "ExpiredTokenException"},
		{"", `{"message":"x"}`, ""},
		{"", `<html>`, ""},
		{"", ``, ""},
	} {
		h := http.Header{}
		if tt.header != "" {
			h.Set("x-amzn-ErrorType", tt.header)
		}
		if got := code(h, []byte(tt.body)); got != tt.want {
			t.Errorf("%q %s: %q", tt.header, tt.body, got)
		}
	}
}

// client is a real one, to classify by both tables.
func client(t *testing.T) *provider.Client {
	t.Helper()
	v, err := New(Options{Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := provider.New(provider.Options{Name: "bedrock", BaseURL: &url.URL{Scheme: "https", Host: "h"}, Vendor: v}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What Bedrock answers with a status, its code in a header; and within a stream, by its name alone.
func TestFaults(t *testing.T) {
	t.Parallel()
	c := client(t)
	for _, tt := range []struct {
		status        int
		code, message string
		want          fault.Class
	}{
		{429, "ThrottlingException", "Too many requests, please wait before trying again.", fault.RateLimited},
		{429, "ThrottlingException", "Too many tokens, please wait before trying again.", fault.RateLimited},
		{400, "ServiceQuotaExceededException", "Your request exceeds the service quota for your account.", fault.RateLimited},
		{429, "ModelNotReadyException", "The model is not ready for inference.", fault.ModelLimited},
		{408, "ModelTimeoutException", "Model has timed out in processing the request.", fault.Upstream},
		{424, "ModelErrorException", "The system encountered an unexpected error during processing.", fault.Upstream},
		{500, "InternalServerException", "", fault.Upstream},
		{503, "ServiceUnavailableException", "Bedrock is unable to process your request.", fault.Upstream},
		{404, "ResourceNotFoundException", "This model version has reached the end of its life.", fault.ModelMissing},
		{404, "FTUFormNotFilled", "Model use case details have not been submitted for this account.", fault.ModelLimited},
		{404, "ResourceNotFoundException", "Model use case details have not been submitted for this account. Fill out the form.", fault.ModelLimited},
		{400, "ValidationException", "The provided model identifier is invalid.", fault.ModelMissing},
		{400, "ValidationException", "Invocation of model ID m with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile.", fault.ModelMissing},
		{400, "ValidationException", "The provided model doesn't support on-demand throughput.", fault.ModelMissing},
		{400, "ValidationException", "Input is too long for requested model.", fault.ContextLength},
		{400, "ValidationException", "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length.", fault.ContextLength},
		{400, "ValidationException", "Malformed input request: expected maxLength: 42000, actual: 46735, please reformat your input and try again.", fault.ContextLength},
		{400, "ValidationException", "The maximum tokens you requested exceeds the model limit of 4096.", fault.Rejected},
		{400, "ValidationException", "The model returned the following errors: Output blocked by content filtering policy", fault.ContentFilter},
		{400, "ValidationException", "The toolConfig field must be defined when using toolUse and toolResult content blocks.", fault.Rejected},
		{400, "ValidationException", "Access to Anthropic models is not allowed from unsupported countries, regions, or territories.", fault.Rejected},
		{403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", fault.ModelLimited},
		{403, "AccessDeniedException", "User: arn:aws:iam::1:user/u is not authorized to perform: bedrock:InvokeModel on resource: arn:aws:bedrock:us-east-1::foundation-model/m", fault.ModelLimited},
		{403, "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid.", fault.Auth},
		{403, "ExpiredTokenException", "The security token included in the request is expired", fault.Auth},
		{403, "UnrecognizedClientException", "The security token included in the request is invalid.", fault.Auth},
		{403, "InvalidSignatureException", "The request signature we calculated does not match the signature you provided.", fault.Auth},
		{400, "IncompleteSignature", "Authorization header requires 'Signature' parameter.", fault.Auth},
		{413, "RequestEntityTooLarge", "", fault.Rejected},
	} {
		got := c.Classify(tt.status, http.Header{"X-Amzn-Errortype": {tt.code}}, []byte(`{"message":"`+tt.message+`"}`), "", tt.message)
		if got.Class != tt.want {
			t.Errorf("%d %s %q is %v, want %v", tt.status, tt.code, tt.message, got.Class, tt.want)
		}
		if !strings.HasSuffix(tt.code, "Exception") || tt.code == "IncompleteSignature" {
			continue
		}
		name := strings.ToLower(tt.code[:1]) + tt.code[1:]
		if got := c.Refine(&fault.Fault{Class: fault.Upstream, Code: name, Message: tt.message}); got.Class != tt.want {
			t.Errorf("%s %q in a stream is %v, want %v", name, tt.message, got.Class, tt.want)
		}
	}
}
