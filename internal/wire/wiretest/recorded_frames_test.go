package wiretest_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"testing"
)

// eventsOfFrames reads AWS's binary event stream and writes it as server-sent events: an event X with payload P is an event
// X with data {"X":P}, an exception an event called error. A chunk of InvokeModel holds the event of the model's own API.
// It knows no more than the recordings need.
func eventsOfFrames(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for len(data) > 0 {
		size, headerSize := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
		frame := data[:size]
		data = data[size:]
		if crc32.ChecksumIEEE(frame[:size-4]) != binary.BigEndian.Uint32(frame[size-4:]) {
			t.Fatal("a frame is corrupt")
		}
		headers, payload := frameHeaders(t, frame[12:12+headerSize]), frame[12+headerSize:size-4]
		if headers[":message-type"] == "exception" {
			rest := bytes.TrimPrefix(bytes.TrimSpace(payload), []byte("{"))
			fmt.Fprintf(&out, "event: error\ndata: {\"exception\":%q,%s\n\n", headers[":exception-type"], rest)
			continue
		}
		kind := headers[":event-type"]
		if kind != "chunk" {
			fmt.Fprintf(&out, "event: %s\ndata: {%q:%s}\n\n", kind, kind, payload)
			continue
		}
		var chunk struct{ Bytes []byte }
		if err := json.Unmarshal(payload, &chunk); err != nil {
			t.Fatal(err)
		}
		var event struct{ Type string }
		if err := json.Unmarshal(chunk.Bytes, &event); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", event.Type, chunk.Bytes)
	}
	return out.Bytes()
}

// frameHeaders reads a frame's headers, all of which are strings.
func frameHeaders(t testing.TB, b []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for len(b) > 0 {
		name := string(b[1 : 1+b[0]])
		b = b[1+len(name):]
		if b[0] != 7 {
			t.Fatalf("%s is no string", name)
		}
		n := binary.BigEndian.Uint16(b[1:])
		out[name] = string(b[3 : 3+n])
		b = b[3+n:]
	}
	return out
}
