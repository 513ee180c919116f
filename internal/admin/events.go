package admin

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"evergate/internal/feed"
)

const (
	// ping is how long nothing may be sent: proxies cut what is silent.
	ping = 15 * time.Second
	// sendTimeout is how long a reader may take for what it is sent at once.
	sendTimeout = 10 * time.Second
	// comeBack is when a reader whose stream broke shall come back.
	comeBack = 2 * time.Second
)

// events streams what happens, as it happens, until the reader goes or the gateway stops.
func (a *handler) events(w http.ResponseWriter, r *http.Request) {
	p := parameters(r, "kinds")
	kinds, err := feed.ParseKinds(p.text("kinds"))
	if err != nil {
		p.mistake("kinds", "%s", err.Error())
	}
	switch {
	case a.sources.Feed == nil:
		writeError(w, http.StatusNotFound, "not_found", "the gateway has no events")
		return
	case p.wrong != nil:
		p.wrong.write(w)
		return
	}
	reader, err := a.sources.Feed.Read(kinds, r.Header.Get("Last-Event-ID"))
	if err != nil {
		w.Header().Set("Retry-After", "5")
		if errors.Is(err, feed.ErrFull) {
			writeError(w, http.StatusServiceUnavailable, "too_many_readers",
				"events are read by "+strconv.Itoa(feed.MaxReaders)+" already, which is as many as there may be; close a page that shows them")
		} else {
			writeError(w, http.StatusServiceUnavailable, "stopping", "the gateway is shutting down")
		}
		return
	}
	defer reader.Close()
	s := &eventStream{w: w, control: http.NewResponseController(w)}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy that collects answers would hold it back
	if r.Method == http.MethodHead {
		return
	}
	s.text("retry: " + strconv.FormatInt(comeBack.Milliseconds(), 10) + "\n\n")
	s.event("hello", reader.ID(), encode(hello{a.sources.Instance, a.sources.Version}))
	if s.send() == nil {
		s.follow(r.Context(), reader)
	}
}

type hello struct {
	Instance string `json:"instance"`
	Version  string `json:"version"`
}

// lost is how many events a reader missed; null where nobody knows.
type lost struct {
	Count *int64 `json:"count"`
}

// eventStream writes events; text and event collect what send sends.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	out     bytes.Buffer
}

// follow sends what is read, until the reader is gone or hung up on.
func (s *eventStream) follow(ctx context.Context, reader *feed.Reader) {
	for {
		events, missed, err := reader.Next(ctx, ping)
		if err != nil {
			return
		}
		if missed != 0 {
			told := lost{&missed}
			if missed == feed.Unknown {
				told.Count = nil
			}
			s.event("lost", "", encode(told))
		}
		for _, e := range events {
			if text := e.Text(eventText); text != nil {
				s.event(e.Kind.String(), e.ID(), text)
			}
		}
		if s.out.Len() == 0 {
			s.text(":\n\n")
		}
		if s.send() != nil {
			return
		}
	}
}

// eventText is the JSON of an event; nil: it cannot be read.
func eventText(e *feed.Event) []byte {
	r, line, err := e.Row()
	switch {
	case err != nil:
		return nil
	case line != nil:
		return encode(newEntry(line))
	case e.Kind == feed.Mirror:
		return encode(newMirrored(r))
	}
	return encode(newRequest(r))
}

func (s *eventStream) text(text string) { s.out.WriteString(text) }

// event collects an event; JSON has no line breaks.
func (s *eventStream) event(name, id string, data []byte) {
	if id != "" {
		s.text("id: " + id + "\n")
	}
	s.text("event: " + name + "\ndata: ")
	s.out.Write(data)
	s.text("\n\n")
}

// send sends what was collected; the write must end in time.
func (s *eventStream) send() error {
	_ = s.control.SetWriteDeadline(time.Now().Add(sendTimeout)) // a writer without deadlines (tests) has no slow client either
	_, err := s.w.Write(s.out.Bytes())
	s.out.Reset()
	return errors.Join(err, s.control.Flush())
}
