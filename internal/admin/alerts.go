package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// AlertSources are who is told when something is the matter.
type AlertSources struct {
	// Alerts are the receivers, by name; nil: there are none.
	Alerts func() []AlertReceiver
	// TestAlert sends a test; false: there is no receiver of that name.
	TestAlert func(ctx context.Context, receiver, by string) (AlertTest, bool)
}

// AlertReceiver is one receiver of alerts. Its URL is a secret, and not in it.
type AlertReceiver struct {
	Name          string   `json:"name"`
	Format        string   `json:"format"` // json, slack
	Signed        bool     `json:"signed"`
	On            []string `json:"on"`
	For           int64    `json:"for_ms"`
	Delivered     uint64   `json:"delivered"`
	Failed        uint64   `json:"failed"`
	Dropped       uint64   `json:"dropped"`
	Waiting       int      `json:"waiting"`
	LastDelivered Time     `json:"last_delivered"`
	Message       string   `json:"message"` // what was wrong with the last try; empty: nothing
}

// AlertTest is what a test alert came to.
type AlertTest struct {
	Receiver  string `json:"receiver"`
	Delivered bool   `json:"delivered"`
	Status    int    `json:"status"` // the receiver's, 0 if there was none
	Message   string `json:"message"`
	Took      int64  `json:"duration_ms"`
}

func (a *handler) alerts(w http.ResponseWriter, _ *http.Request) {
	receivers := []AlertReceiver{}
	if a.sources.Alerts != nil {
		receivers = a.sources.Alerts()
	}
	writeJSON(w, http.StatusOK, map[string]any{"receivers": receivers})
}

// testAlert sends one receiver a test alert, and answers with what came of it.
func (a *handler) testAlert(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxOrder))
	if err != nil {
		invalid("", "the body cannot be read: %s; at most %d bytes are", err, maxOrder).write(w)
		return
	}
	var in struct {
		Receiver *string `json:"receiver"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || d.More() || in.Receiver == nil {
		invalid("receiver", `the body must be a JSON object such as {"receiver": "ops"}`).write(w)
		return
	}
	result, known := AlertTest{}, false
	if a.sources.TestAlert != nil {
		result, known = a.sources.TestAlert(r.Context(), *in.Receiver, a.who(r))
	}
	if !known {
		var names []string
		if a.sources.Alerts != nil {
			for _, r := range a.sources.Alerts() {
				names = append(names, r.Name)
			}
		}
		writeError(w, http.StatusNotFound, "unknown_receiver", unknown("receiver of alerts", *in.Receiver, names))
		return
	}
	writeJSON(w, http.StatusOK, result)
}
