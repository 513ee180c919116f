package provider

import (
	"slices"
	"strings"

	"evergate/internal/fault"
)

// Entry is one line of a fault table, the common one or a vendor's. All of its conditions must hold; an empty one holds
// always.
type Entry struct {
	// From, To bound the HTTP status; with InBody, it may also be unknown, as it is for an error within a 200.
	From, To int
	InBody   bool
	// Not lists statuses within the bounds for which the line does not hold.
	Not []int
	// One of Codes is among the error's codes, types and reasons, or the message holds one of Says, or a quota id one
	// of Limits. All in lower case; "…" in Says stands for at most sayGap bytes of anything.
	Codes, Says, Limits []string
	Class               fault.Class
	// Seal: what was refused is a signature or an encrypted item of the request (fault.Fault.Seal).
	Seal bool
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
var faultTable = []Entry{
	// R14. A redirect is never followed; its body is a web page.
	{From: 300, To: 399, Class: fault.Invalid},

	// R10 before all that has words in common with it: the refusal of a signature or of an encrypted item, which can be
	// repaired. Anthropic's, OpenAI's and Google's words; those who resell their models pass them on. That a signature is
	// missing is no such refusal: there is nothing to leave out. That a thought is missing is one: another vendor's model
	// answered in between, and thinking can be left out.
	{From: 400, To: 499, InBody: true, Codes: []string{"invalid_encrypted_content"}, Says: []string{
		"expected `thinking` or `redacted_thinking`, but found", "invalid `signature` in `thinking`", "invalid signature in thinking", "invalid `data` in `redacted_thinking`",
		"`redacted_thinking` blocks in the latest assistant message cannot be modified", "thinking.signature: ",
		"encrypted content…could not be verified", "encrypted content could not be decrypted",
		"thought signature is not valid", "corrupted thought signature", "invalid thought signature",
		"thought_signature…base64 decoding failed", "of type 'reasoning' was provided without its required following item",
		"item with id 'rs_…items are not persisted",
	}, Class: fault.Rejected, Seal: true},

	// R11 before the limits: a request that is larger than a minute's tokens is worded as a rate limit (429 at OpenAI,
	// 413 at Groq), but waiting does not help it, and the next request is fine. Only a larger allowance elsewhere
	// helps, as with a window.
	{From: 400, To: 499, InBody: true, Says: []string{"request too large for…tokens per"}, Class: fault.ContextLength},

	// R6 and R4 before R5: Google words every limit as an exhausted quota; the quota's id tells of what and for how long.
	{From: 429, To: 429, InBody: true, Limits: []string{"permodel"}, Class: fault.ModelLimited},
	{From: 429, To: 429, InBody: true, Limits: []string{"perminute", "perday"}, Class: fault.RateLimited},

	// R5 before R4 and R7: quota comes as 429, 403, 400, 412 or as 402; to wait for a minute or to ask with the same
	// key is of no use. Codes count with any status: aggregators wrap them in 5xx.
	{From: 402, To: 402, Class: fault.Quota},
	{From: lowest, To: highest, InBody: true, Codes: []string{
		"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance", "insufficient_credits",
		"insufficient_user_quota", "credit_limit_exceeded", "account_deactivated_billing", "quota_exhausted",
	}, Class: fault.Quota},
	{From: 400, To: 499, InBody: true, Says: []string{
		"exceeded your current quota", "check your plan and billing", "credit balance is too low", "insufficient balance",
		"insufficient credit", "insufficient quota", "insufficient funds", "billing hard limit", "used all available credits",
		"doesn't have any credits", "prepayment credits are depleted", "exceeded its monthly spending cap",
		"reached your specified api usage limits", "reached your specified workspace api usage limits", "monthly spending limit", "exceeded your monthly included credits", "out of credits", "requires more credits",
		"credit limit exceeded", "account is not active, please check your billing",
	}, Class: fault.Quota},

	// R10 before R7: where the caller or the gateway is, no other key of the provider changes.
	{From: 403, To: 403, InBody: true, Codes: []string{"unsupported_country_region_territory"}, Says: []string{
		"country, region", "not available in your country", "not available in your region", "not supported in your region",
		"user location is not supported",
	}, Class: fault.Rejected},

	// R12 before R7, R9 and R10: filters answer 400 or 403, and their words may name a model. R7 counts a 403 about
	// content as the caller's too.
	{From: 400, To: 499, InBody: true, Codes: []string{
		"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "moderation_blocked",
		"data_inspection_failed", "content_filter_error", "safety_violation", "input_moderation_failed",
	}, Says: []string{
		"content management policy", "our safety system", "content exists risk", "violates our usage polic",
		"content violates usage guidelines", "violates…usage polic", "input was flagged", "inappropriate content",
		"flagged…moderation", "output blocked by content filtering policy",
	}, Class: fault.ContentFilter},

	// R11 before R9 and R10: the codes are clear with any status (llama.cpp has answered 500 for it); the words are
	// each vendor's own, and only within a 4xx.
	{From: lowest, To: highest, InBody: true, Codes: []string{
		"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded", "prompt_too_long",
		"too_many_tokens", "context_window_exceeded",
	}, Class: fault.ContextLength},
	{From: 400, To: 499, InBody: true, Not: []int{401, 403, 404, 429}, Says: []string{
		"maximum context length", "max context length", "context length exceeded", "exceeds the context length",
		"exceeds context length", "exceed context limit", "prompt is too long", "prompt too long", "available context size", "context window",
		"maximum prompt length", "too many tokens", "max_tokens must be at least 1, got -", "model token limit",
		"reduce the length of the messages", "reduce the length of the prompt", "input token count…exceeds",
		"input tokens exceed", "input is too long for", "tokens + `max_new_tokens` must be <=", "`inputs` must have less than",
		"longer than the model's context", "exceeds the model's maximum",
	}, Class: fault.ContextLength},

	// R6 before R7 and R9: a 403 that names a model refuses the model to this key, not the key.
	{From: 403, To: 403, InBody: true, Codes: []string{"model_not_found", "model_not_available", "model_access_denied"}, Says: []string{
		"access to model", "access to the model", "access to this model", "access the model", "access model", "use this model", "use the model",
		"model…not allowed", "not allowed…model", "model…not authorized", "not authorized…model", "model…permission",
		"permission…model", "model…not available", "model…terms", "agree…model",
	}, Class: fault.ModelLimited},

	// R7. xAI and Google refuse a bad key with 400.
	{From: 401, To: 401, Class: fault.Auth},
	{From: 400, To: 499, InBody: true, Codes: []string{
		"invalid_api_key", "api_key_invalid", "authentication_error", "invalid_authentication", "account_deactivated",
	}, Says: []string{
		"incorrect api key", "invalid api key", "api key not valid", "api key expired", "invalid x-api-key",
		"api key is missing", "no api key provided",
	}, Class: fault.Auth},
	{From: 403, To: 403, Class: fault.Auth},
	{From: 0, To: 0, InBody: true, Codes: []string{"permission_error"}, Class: fault.Auth},

	// R10 before R9: what is missing is something that the request names beside the model.
	{From: 404, To: 404, InBody: true, Codes: []string{"file_not_found"}, Says: []string{
		"items are not persisted", "no such file object", "no thread state was found",
	}, Class: fault.Rejected},

	// R9. A 404 needs no words. Codes count with any status: some gateways answer 503 for a model they lack.
	{From: 404, To: 404, Class: fault.ModelMissing},
	{From: lowest, To: highest, InBody: true, Codes: []string{
		"model_not_found", "model_not_available", "model_decommissioned", "model_deprecated", "deploymentnotfound",
		"invalid_model", "unknown_model", "model_not_exist",
	}, Class: fault.ModelMissing},
	{From: 400, To: 499, InBody: true, Says: []string{
		"model…does not exist", "model not exist", "model…not found", "no such model", "unknown model", "invalid model",
		"not a valid model", "model…has been decommissioned", "model…has been deprecated", "model…is not available",
		"model…is no longer available", "try pulling it first", "model…end of its life", "model…not loaded", "no models loaded",
		"no endpoints found",
	}, Class: fault.ModelMissing},

	// R6 before R4: the limits of OpenAI and Groq are of one model, and say which.
	{From: 429, To: 429, InBody: true, Says: []string{
		"rate limit reached for…in organization", "limit_rpm/", "temporarily rate-limited upstream", "rate limit…for this model",
		"rate limit…for model", "requests for this model",
	}, Class: fault.ModelLimited},

	// R4.
	{From: 429, To: 429, Class: fault.RateLimited},
	{From: 400, To: 499, InBody: true, Codes: []string{
		"rate_limit_exceeded", "rate_limit_error", "rate_limited", "rate_limit", "too_many_requests", "resource_exhausted",
		"throttling", "requests_limit_exceeded",
	}, Says: []string{"rate limit exceeded", "rate limit reached", "too many requests"}, Class: fault.RateLimited},

	// R3. Last of those with words: a 5xx says little more than that it failed.
	{From: 408, To: 408, Class: fault.Upstream},
	{From: 500, To: 599, Class: fault.Upstream},
	{From: 0, To: 0, InBody: true, Codes: []string{
		"server_error", "api_error", "internal_error", "internal_server_error", "overloaded_error", "overloaded", "internal",
		"service_unavailable", "unavailable", "server_is_overloaded", "engine_overloaded", "engine_overloaded_error", "timeout",
		"deadline_exceeded", "slow_down",
	}, Class: fault.Upstream},

	// R10. Whatever else is a 4xx is about the request.
	{From: 400, To: 499, Class: fault.Rejected},
	{From: 0, To: 0, InBody: true, Codes: []string{"invalid_request_error", "invalid_request", "bad_request", "invalid_argument"}, Class: fault.Rejected},
}

// verdict is the first line that fits an error, the vendor's own lines first; status 0 is an error that came without
// one, within a 200. Nil: none fits.
func (v *Vendor) verdict(status int, w *words) *Entry {
	message := strings.ToLower(w.message)
	for _, table := range [...][]Entry{v.Faults, faultTable} {
		for i := range table {
			if table[i].fits(status, w, message) {
				return &table[i]
			}
		}
	}
	return nil
}

func (e *Entry) fits(status int, w *words, message string) bool {
	if status == 0 {
		if !e.InBody {
			return false
		}
	} else if status < e.From || status > e.To || slices.Contains(e.Not, status) {
		return false
	}
	if e.Codes == nil && e.Says == nil && e.Limits == nil {
		return true
	}
	for _, c := range w.codes {
		if slices.Contains(e.Codes, c) {
			return true
		}
	}
	for _, p := range e.Says {
		if says(message, p) {
			return true
		}
	}
	for _, id := range w.limits {
		for _, l := range e.Limits {
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
