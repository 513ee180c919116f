package mock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
)

// maxRecording is the longest recording that is replayed, in bytes.
const maxRecording = 16 << 20

// recorded is the recording that answers a request: the one that its behaviour names, else the one that has its model's
// name. Nothing outside the script's directory is ever read, links included.
func (s *Script) recorded(q *request, b *Behaviour) (answer, bool) {
	if s.Replay == "" {
		if b.Replay != "" {
			return refused(replayError("the script names no directory of recordings (replay: {dir: …})")), true
		}
		return answer{}, false
	}
	names := []string{b.Replay}
	if b.Replay == "" {
		if q.op == opModels || q.Model == "" {
			return answer{}, false
		}
		names = []string{q.Model + ".json"}
		if q.Stream {
			names = []string{q.Model + ".sse", q.Model + ".eventstream", q.Model + ".ndjson"}
		}
	}
	for _, name := range names {
		data, err := readRecording(s.Replay, name)
		switch {
		case err == nil:
			return recording(name, data), true
		case b.Replay != "" || !errors.Is(err, fs.ErrNotExist):
			return refused(replayError(err.Error())), true
		}
	}
	return answer{}, false
}

func replayError(words string) *apiError {
	return &apiError{Status: http.StatusInternalServerError, Message: "replay: " + words}
}

func readRecording(dir, name string) (data []byte, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.New("the directory of recordings cannot be opened")
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, fs.ErrNotExist)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is no file", name)
	}
	data, err = io.ReadAll(io.LimitReader(f, maxRecording+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q cannot be read", name)
	case len(data) > maxRecording:
		return nil, fmt.Errorf("%q is longer than %d bytes", name, maxRecording)
	}
	return data, nil
}

// recording is an answer with these bytes. A stream is sent event by event, each a content chunk, so that faults can
// happen between them.
func recording(name string, data []byte) answer {
	a := answer{status: http.StatusOK, plain: data}
	var cut func([]byte) int
	switch path.Ext(name) {
	case ".json":
		a.contentType = "application/json"
		return a
	case ".sse":
		a.framing, cut = asIs("text/event-stream; charset=utf-8"), nextSSE
	case ".eventstream":
		a.framing, cut = asIs("application/vnd.amazon.eventstream"), nextFrame
	case ".ndjson":
		a.framing, cut = asIs("application/x-ndjson"), nextLine
	default:
		a.contentType = "application/octet-stream"
		return a
	}
	a.recorded = true
	for len(data) > 0 {
		n := cut(data)
		a.events = append(a.events, event{kind: kindContent, data: data[:n]})
		data = data[n:]
	}
	if a.events == nil {
		a.events = []event{}
	}
	a.late = func(e *apiError, _ int) event {
		return event{data: fmt.Appendf(nil, "data: {\"error\":{\"message\":%s}}\n\n", encode(e.Message))}
	}
	return a
}

// nextSSE is the length of the first event with the blank line after it.
func nextSSE(data []byte) int {
	end := len(data)
	for _, blank := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		if i := bytes.Index(data, []byte(blank)); i >= 0 {
			end = min(end, i+len(blank))
		}
	}
	return end
}

// nextFrame is the length of the first frame; what is no frame goes as one piece.
func nextFrame(data []byte) int {
	if len(data) < 4 {
		return len(data)
	}
	n := int(binary.BigEndian.Uint32(data))
	if n <= 0 || n > len(data) {
		return len(data)
	}
	return n
}

func nextLine(data []byte) int {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1
	}
	return len(data)
}
