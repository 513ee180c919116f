package admin

import (
	"errors"
	"io"
	"net/http"
	"net/url"

	"evergate/internal/explain"
	"evergate/internal/ledger"
)

// explain says what the request in the body would come to (R72). Parameters say what a client's path and headers would:
// dialect, model, stream, key, strict, prefer, byok.
func (a *handler) explain(w http.ResponseWriter, r *http.Request) {
	if a.sources.Explain == nil {
		writeError(w, http.StatusNotFound, "not_found", "there is nothing at this path")
		return
	}
	q, wrong := question(r.URL.Query())
	if wrong != nil {
		wrong.write(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.maxBody))
	if err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			invalid("", "the body is larger than %d bytes, the limit of server.max_request_body", tooLarge.Limit).write(w)
			return
		}
		invalid("", "%s", unread(err)).write(w)
		return
	}
	q.Body = body
	answer, err := a.sources.Explain(r.Context(), q)
	var mistaken *explain.QuestionError
	switch {
	case errors.As(err, &mistaken):
		invalid(mistaken.Param, "%s", mistaken.Message).write(w)
	case err != nil:
		writeError(w, http.StatusInternalServerError, "internal_error", err.Error())
	default:
		writeJSON(w, http.StatusOK, answer)
	}
}

// question reads the parameters.
func question(query url.Values) (q explain.Question, wrong *mistake) {
	for name, values := range query {
		value := values[len(values)-1]
		switch name {
		case "dialect":
			q.Dialect = value
		case "model":
			q.Model = value
		case "key":
			q.Key = value
		case "prefer":
			q.Prefer = value
		case "byok":
			q.Brings = append(q.Brings, values...)
		case "stream", "strict":
			if value != "true" && value != "false" {
				return q, invalid(name, "%s must be true or false, not %q", name, clip(value))
			}
			if name == "stream" {
				q.Stream = value == "true"
			} else {
				q.Strict = value == "true"
			}
		default:
			return q, invalid(clip(name), "%s", unknown("parameter", name, []string{"dialect", "model", "key", "stream", "strict", "prefer", "byok"}))
		}
	}
	return q, nil
}

// explainPast says what became of a past request.
func (a *handler) explainPast(w http.ResponseWriter, r *http.Request) {
	a.keptRequest(w, r, func(found *ledger.Request) any { return a.sources.Past(found) })
}
