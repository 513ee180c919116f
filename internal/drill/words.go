package drill

import (
	"strconv"
	"time"

	"evergate/internal/wire"
)

// Reply is an answer that nobody was asked for.
type Reply struct {
	Status int
	Header map[string]string
	Body   []byte
}

// Reply is the answer of a shape that gives one without asking the provider (Status, Invalid), in the words of the dialect that was
// spoken.
func (s *Shape) Reply(d wire.Dialect) Reply {
	r := Reply{Status: 200, Header: map[string]string{"Content-Type": "application/json"}}
	if s.Kind == Status {
		r.Status, r.Body = s.Status, []byte(s.Body)
		if s.Body == "" {
			r.Body = d.AppendError(nil, failure(s.Status))
		}
		if e := exception(s.Status); e != "" && d.Name() == "converse" {
			r.Header["X-Amzn-Errortype"] = e
		}
		if s.RetryAfter > 0 {
			r.Header["Retry-After"] = strconv.FormatInt(int64((s.RetryAfter+time.Second-1)/time.Second), 10)
		}
		return r
	}
	switch s.Answer {
	case HTML:
		r.Header["Content-Type"] = "text/html; charset=utf-8"
		r.Body = []byte("<!DOCTYPE html>\n<html><head><title>drill</title></head><body><h1>A drill of Evergate</h1></body></html>\n")
	case JSON:
		r.Body = []byte(`{"id":"drill","object":`)
	}
	return r
}

// failure is an error in the words that providers have for its status.
func failure(status int) wire.Failure {
	f := wire.Failure{Status: status, Message: "the request failed (drill)"}
	for _, w := range words {
		if w.status == status {
			f.Code, f.Message = w.code, w.message+" (drill)"
		}
	}
	return f
}

var words = []struct {
	status        int
	code, message string
}{
	{400, "invalid_request", "the request is not valid"},
	{401, "invalid_api_key", "the API key is not valid"},
	{402, "insufficient_quota", "the account has no credit left"},
	{403, "permission_denied", "the API key may not do this"},
	{404, "model_not_found", "the model does not exist"},
	{408, "", "the request timed out"},
	{413, "", "the request is too large"},
	{429, "rate_limit_exceeded", "the rate limit is reached"},
	{500, "", "the server had an error"},
	{502, "", "bad gateway"},
	{503, "", "the service is not available"},
	{504, "", "the gateway timed out"},
	{529, "", "overloaded"},
}

// exception is how AWS names the error of a status, in a header.
func exception(status int) string {
	switch {
	case status == 429:
		return "ThrottlingException"
	case status == 403:
		return "AccessDeniedException"
	case status == 404:
		return "ResourceNotFoundException"
	case status == 408:
		return "ModelTimeoutException"
	case status == 503:
		return "ServiceUnavailableException"
	case status < 500:
		return "ValidationException"
	}
	return "InternalServerException"
}

const (
	// overloaded is the status whose words an error event in the midst of a stream has.
	overloaded = 503
	// garbage is an event that is no JSON.
	garbage = "data: {\"drill\":\"\x00\n\n"
)
