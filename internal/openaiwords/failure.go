package openaiwords

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// AppendError appends the value of an error reply's "error"; param and code are null where there is none, attempts and
// request_id left out.
func AppendError(dst []byte, f *wire.Failure) []byte {
	dst = append(dst, `{"message":`...)
	dst = jsonscan.AppendString(dst, f.Message)
	dst = append(dst, `,"type":`...)
	dst = jsonscan.AppendString(dst, errorType(f.Status))
	dst = append(dst, `,"param":`...)
	dst = jsonscan.AppendStringOrNull(dst, f.Param)
	dst = append(dst, `,"code":`...)
	dst = jsonscan.AppendStringOrNull(dst, f.Code)
	if len(f.Attempts) > 0 {
		dst = append(dst, `,"attempts":`...)
		dst = wire.AppendAttempts(dst, f.Attempts)
	}
	if f.RequestID != "" {
		dst = append(dst, `,"request_id":`...)
		dst = jsonscan.AppendString(dst, f.RequestID)
	}
	return append(dst, '}')
}

// errorType is the word for a status.
func errorType(status int) string {
	switch {
	case status == 401:
		return "authentication_error"
	case status == 403:
		return "permission_error"
	case status == 429:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	default:
		return "invalid_request_error"
	}
}
