package bedrock

import (
	"encoding/json"
	"net/http"
	"strings"

	"evergate/internal/fault"
	"evergate/internal/provider"
)

// code reads the exception's name, which is in a header or, for errors from before the service, in __type.
func code(h http.Header, body []byte) string {
	name := h.Get("X-Amzn-Errortype")
	if name == "" {
		var b struct {
			Type string `json:"__type"`
		}
		if json.Unmarshal(body, &b) != nil {
			return ""
		}
		name = b.Type
	}
	// ThrottlingException:http://internal.amazon.com/coral/…, com.amazon.coral.validate#ValidationException
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimSpace(name[strings.LastIndexByte(name, '#')+1:])
}

// faults are Bedrock's exceptions (RESILIENCE §2). They come with a status as the reply to a request, or without one
// within a stream, where their names begin with a small letter; the table compares in lower case.
func faults() []provider.Entry {
	const most = 599
	return []provider.Entry{
		// R4 before R11, for the words "too many tokens". Bedrock has no word for when to come back, and none for
		// what a limit is of: the credential rests for moments, where a model would be locked for a minute. "Resubmit later" is
		// all that is said of a service quota, so it is no R5.
		{To: most, InBody: true, Codes: []string{"throttlingexception", "servicequotaexceededexception", "toomanyrequestsexception"}, Class: fault.RateLimited},
		// R6: a model that is warming up (429), or that the account has not signed up for (404).
		{To: most, InBody: true, Codes: []string{"modelnotreadyexception", "ftuformnotfilled"}, Class: fault.ModelLimited},
		{From: 400, To: 499, InBody: true, Says: []string{"use case details have not been submitted"}, Class: fault.ModelLimited},
		// R3: the model failed, not the request (424), and what is the service's own.
		{To: most, InBody: true, Codes: []string{
			"modelerrorexception", "modelstreamerrorexception", "modeltimeoutexception", "internalserverexception", "internalfailure",
			"serviceunavailableexception", "serviceunavailable",
		}, Class: fault.Upstream},
		// R10 before R6: where the caller is.
		{From: 400, To: 499, InBody: true, Says: []string{"unsupported countries"}, Class: fault.Rejected},
		// R12.
		{From: 400, To: 499, InBody: true, Says: []string{"blocked by content filter"}, Class: fault.ContentFilter},
		// R11, in the words of each model. Those of the common table stand here again for the line at the end.
		{From: 400, To: 400, InBody: true, Says: []string{
			"input tokens exceeded", "number of input tokens exceeds", "input is too long", "too many input tokens", "expected maxlength",
			"prompt is too long", "context window", "maximum context length",
		}, Class: fault.ContextLength},
		// R9 in a 400: an id that is none, or one that only an inference profile serves.
		{From: 404, To: 404, InBody: true, Codes: []string{"resourcenotfoundexception"}, Class: fault.ModelMissing},
		{From: 400, To: 400, InBody: true, Says: []string{"model identifier is invalid", "on-demand throughput"}, Class: fault.ModelMissing},
		// R6 before R7: the account may use others.
		{From: 403, To: 403, InBody: true, Says: []string{"access to the model", "model access is denied", "foundation-model/", "inference-profile/"}, Class: fault.ModelLimited},
		// R7: what refuses a key, a signature or a token, whatever its status.
		{From: 400, To: 403, InBody: true, Codes: []string{
			"expiredtokenexception", "expiredtoken", "unrecognizedclientexception", "invalidsignatureexception", "signaturedoesnotmatch",
			"missingauthenticationtokenexception", "missingauthenticationtoken", "incompletesignatureexception", "incompletesignature",
			"invalidclienttokenid", "notauthorized", "optinrequired", "requestexpired",
		}, Class: fault.Auth},
		// R7 and R10 within a stream, where no status says so.
		{InBody: true, Codes: []string{"accessdeniedexception"}, Class: fault.Auth},
		{InBody: true, Codes: []string{"validationexception", "conflictexception"}, Class: fault.Rejected},
	}
}
