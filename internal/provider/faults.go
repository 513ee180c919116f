package provider

import (
	"slices"
	"strings"

	"evergate/internal/fault"
)

// entry is one line of the fault table. All of its conditions must hold; an empty one holds always.
type entry struct {
	// from, to bound the HTTP status; with inBody, it may also be unknown, as it is for an error within a 200.
	from, to int
	inBody   bool
	// not lists statuses within the bounds for which the line does not hold.
	not []int
	// One of codes is among the error's codes, types and reasons, or the message holds one of says, or a quota id one
	// of limits. All in lower case; "…" in says stands for at most sayGap bytes of anything.
	codes, says, limits []string
	class               fault.Class
}

// sayGap is how much "…" in a pattern may stand for.
const sayGap = 120

// any status at all, known or not.
const (
	lowest  = 0
	highest = 599
)

// faultTable is what OpenAI-compatible providers mean by their errors (R3-R12, R14). The first line that fits decides,
// so the order matters and each line says why it stands where it does.
var faultTable = []entry{
	// R14. A redirect is never followed; its body is a web page.
	{from: 300, to: 399, class: fault.Invalid},

	// R11 before the limits: a request that is larger than a minute's tokens is worded as a rate limit (429 at OpenAI,
	// 413 at Groq), but waiting does not help it, and the next request is fine. Only a larger allowance elsewhere
	// helps, as with a window.
	{from: 400, to: 499, inBody: true, says: []string{"request too large for…tokens per"}, class: fault.ContextLength},

	// R6 and R4 before R5: Google words every limit as an exhausted quota; the quota's id tells of what and for how long.
	{from: 429, to: 429, inBody: true, limits: []string{"permodel"}, class: fault.ModelLimited},
	{from: 429, to: 429, inBody: true, limits: []string{"perminute", "perday"}, class: fault.RateLimited},

	// R5 before R4 and R7: quota comes as 429, 403, 400, 412 or as 402; to wait for a minute or to ask with the same
	// key is of no use. Codes count with any status: aggregators wrap them in 5xx.
	{from: 402, to: 402, class: fault.Quota},
	{from: lowest, to: highest, inBody: true, codes: []string{
		"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance", "insufficient_credits",
		"insufficient_user_quota", "credit_limit_exceeded", "account_deactivated_billing", "quota_exhausted",
	}, class: fault.Quota},
	{from: 400, to: 499, inBody: true, says: []string{
		"exceeded your current quota", "check your plan and billing", "credit balance is too low", "insufficient balance",
		"insufficient credit", "insufficient quota", "insufficient funds", "billing hard limit", "used all available credits",
		"monthly spending limit", "exceeded your monthly included credits", "out of credits", "requires more credits",
		"credit limit exceeded", "account is not active, please check your billing",
	}, class: fault.Quota},

	// R10 before R7: where the caller or the gateway is, no other key of the provider changes.
	{from: 403, to: 403, inBody: true, codes: []string{"unsupported_country_region_territory"}, says: []string{
		"country, region", "not available in your country", "not available in your region", "not supported in your region",
		"user location is not supported",
	}, class: fault.Rejected},

	// R12 before R7, R9 and R10: filters answer 400 or 403, and their words may name a model. R7 counts a 403 about
	// content as the caller's too.
	{from: 400, to: 499, inBody: true, codes: []string{
		"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "moderation_blocked",
		"data_inspection_failed", "content_filter_error", "safety_violation", "input_moderation_failed",
	}, says: []string{
		"content management policy", "our safety system", "content exists risk", "violates our usage polic",
		"content violates usage guidelines", "violates…usage polic", "input was flagged", "inappropriate content",
		"flagged…moderation",
	}, class: fault.ContentFilter},

	// R11 before R9 and R10: the codes are clear with any status (llama.cpp has answered 500 for it); the words are
	// each vendor's own, and only within a 4xx.
	{from: lowest, to: highest, inBody: true, codes: []string{
		"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded", "prompt_too_long",
		"too_many_tokens", "context_window_exceeded",
	}, class: fault.ContextLength},
	{from: 400, to: 499, inBody: true, not: []int{401, 403, 404, 429}, says: []string{
		"maximum context length", "max context length", "context length exceeded", "exceeds the context length",
		"exceeds context length", "prompt is too long", "prompt too long", "available context size", "context window",
		"maximum prompt length", "too many tokens", "max_tokens must be at least 1, got -", "model token limit",
		"reduce the length of the messages", "reduce the length of the prompt", "input token count…exceeds",
		"input tokens exceed", "input is too long for", "tokens + `max_new_tokens` must be <=", "`inputs` must have less than",
		"longer than the model's context", "exceeds the model's maximum",
	}, class: fault.ContextLength},

	// R6 before R7 and R9: a 403 that names a model refuses the model to this key, not the key.
	{from: 403, to: 403, inBody: true, codes: []string{"model_not_found", "model_not_available", "model_access_denied"}, says: []string{
		"access to model", "access to the model", "access to this model", "access the model", "access model", "use this model", "use the model",
		"model…not allowed", "not allowed…model", "model…not authorized", "not authorized…model", "model…permission",
		"permission…model", "model…not available", "model…terms", "agree…model",
	}, class: fault.ModelLimited},

	// R7. xAI and Google refuse a bad key with 400.
	{from: 401, to: 401, class: fault.Auth},
	{from: 400, to: 499, inBody: true, codes: []string{
		"invalid_api_key", "api_key_invalid", "authentication_error", "invalid_authentication", "account_deactivated",
	}, says: []string{
		"incorrect api key", "invalid api key", "api key not valid", "api key expired", "invalid x-api-key",
		"api key is missing", "no api key provided",
	}, class: fault.Auth},
	{from: 403, to: 403, class: fault.Auth},
	{from: 0, to: 0, inBody: true, codes: []string{"permission_error"}, class: fault.Auth},

	// R9. A 404 needs no words. Codes count with any status: some gateways answer 503 for a model they lack.
	{from: 404, to: 404, class: fault.ModelMissing},
	{from: lowest, to: highest, inBody: true, codes: []string{
		"model_not_found", "model_not_available", "model_decommissioned", "model_deprecated", "deploymentnotfound",
		"invalid_model", "unknown_model", "model_not_exist",
	}, class: fault.ModelMissing},
	{from: 400, to: 499, inBody: true, says: []string{
		"model…does not exist", "model not exist", "model…not found", "no such model", "unknown model", "invalid model",
		"not a valid model", "model…has been decommissioned", "model…has been deprecated", "model…is not available",
		"model…is no longer available", "try pulling it first", "model…end of its life", "model…not loaded", "no models loaded",
		"no endpoints found",
	}, class: fault.ModelMissing},

	// R6 before R4: the limits of OpenAI and Groq are of one model, and say which.
	{from: 429, to: 429, inBody: true, says: []string{
		"rate limit reached for…in organization", "limit_rpm/", "temporarily rate-limited upstream", "rate limit…for this model",
		"rate limit…for model", "requests for this model",
	}, class: fault.ModelLimited},

	// R4.
	{from: 429, to: 429, class: fault.RateLimited},
	{from: 400, to: 499, inBody: true, codes: []string{
		"rate_limit_exceeded", "rate_limit_error", "rate_limited", "rate_limit", "too_many_requests", "resource_exhausted",
		"throttling", "requests_limit_exceeded",
	}, says: []string{"rate limit exceeded", "rate limit reached", "too many requests"}, class: fault.RateLimited},

	// R3. Last of those with words: a 5xx says little more than that it failed.
	{from: 408, to: 408, class: fault.Upstream},
	{from: 500, to: 599, class: fault.Upstream},
	{from: 0, to: 0, inBody: true, codes: []string{
		"server_error", "api_error", "internal_error", "internal_server_error", "overloaded_error", "overloaded", "internal",
		"service_unavailable", "unavailable", "server_is_overloaded", "engine_overloaded", "engine_overloaded_error", "timeout",
		"deadline_exceeded", "slow_down",
	}, class: fault.Upstream},

	// R10. Whatever else is a 4xx is about the request.
	{from: 400, to: 499, class: fault.Rejected},
	{from: 0, to: 0, inBody: true, codes: []string{"invalid_request_error", "invalid_request", "bad_request", "invalid_argument"}, class: fault.Rejected},
}

// classify is the class of an error by the table; status 0 is one that came without, within a 200. Unknown: none fits.
func classify(status int, w *words) fault.Class {
	message := strings.ToLower(w.message)
	for i := range faultTable {
		if faultTable[i].fits(status, w, message) {
			return faultTable[i].class
		}
	}
	return fault.Unknown
}

func (e *entry) fits(status int, w *words, message string) bool {
	if status == 0 {
		if !e.inBody {
			return false
		}
	} else if status < e.from || status > e.to || slices.Contains(e.not, status) {
		return false
	}
	if e.codes == nil && e.says == nil && e.limits == nil {
		return true
	}
	for _, c := range w.codes {
		if slices.Contains(e.codes, c) {
			return true
		}
	}
	for _, p := range e.says {
		if says(message, p) {
			return true
		}
	}
	for _, id := range w.limits {
		for _, l := range e.limits {
			if strings.Contains(id, l) {
				return true
			}
		}
	}
	return false
}

// says finds a pattern in a message, both in lower case.
func says(message, pattern string) bool {
	first, rest, gap := strings.Cut(pattern, "…")
	for {
		i := strings.Index(message, first)
		if i < 0 {
			return false
		}
		message = message[i+len(first):]
		if !gap || says(message[:min(len(message), sayGap+len(rest))], rest) {
			return true
		}
	}
}
