package mock

import (
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// setter sets one field from its text.
type setter func(string) error

// fields are the keys of a behaviour with a single value, for scripts and for the x-mock-fault header alike.
func (b *Behaviour) fields() map[string]setter {
	return map[string]setter{
		"latency":      setDuration(&b.Latency),
		"first_token":  setDuration(&b.FirstToken),
		"chunk_delay":  setDuration(&b.ChunkDelay),
		"keepalive":    setDuration(&b.Keepalive),
		"chunks":       setInt(&b.Chunks, 0, 1_000_000),
		"chunk_size":   setInt(&b.ChunkSize, 0, 1_000_000),
		"text":         setString(&b.Text),
		"status":       setInt(&b.Status, 200, 599),
		"code":         setString(&b.Code),
		"type":         setString(&b.Type),
		"message":      setString(&b.Message),
		"retry_after":  setString(&b.RetryAfter),
		"body":         setString(&b.Body),
		"content_type": setString(&b.ContentType),
		"replay":       setParsed(&b.Replay, parseReplay),
		"hang":         setParsed(&b.Hang, parsePoint),
		"reset":        setParsed(&b.Reset, parsePoint),
		"cut":          setParsed(&b.Cut, parsePoint),
		"eof":          setParsed(&b.EOF, parsePoint),
		"error":        setParsed(&b.Error, parsePoint),
		"malformed":    setInt(&b.Malformed, 0, 1_000_000),
		"noise":        setInt(&b.Noise, 0, 1_000_000),
		"prefill": setWord(&b.Prefill, map[string]Prefill{
			"restart": Restart, "continue": Continue, "refuse": Refuse,
		}),
		"no_done":   setBool(&b.NoDone),
		"no_finish": setBool(&b.NoFinish),
		"empty":     setBool(&b.Empty),
		"html":      setBool(&b.HTML),
		"gzip":      setBool(&b.Gzip),
		"as": setWord(&b.As, map[string]Form{
			"json": JSON, "stream": Stream,
		}),
	}
}

func (r *Rule) fields() map[string]setter {
	return map[string]setter{
		"name":        setString(&r.Name),
		"model":       setString(&r.Model),
		"path":        setString(&r.Path),
		"key":         setString(&r.Key),
		"stream":      setWord(&r.Stream, map[string]Want{"true": Streamed, "false": Plain}),
		"schedule":    setParsed(&r.Schedule, parseSchedule),
		"nth":         setParsed(&r.Nth, parseNth),
		"probability": setParsed(&r.Probability, parseProbability),
	}
}

// addHeader reads "name: value".
func (b *Behaviour) addHeader(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return fmt.Errorf(`%q is not a header: write "name: value"`, line)
	}
	if b.Header == nil {
		b.Header = http.Header{}
	}
	b.Header.Add(name, strings.TrimSpace(value))
	return nil
}

// check finds what no single field can see.
func (b *Behaviour) check() error {
	set := ""
	for _, name := range []string{"hang", "reset", "cut", "eof", "error"} {
		p := *b.pointFaults()[name]
		if p == Never {
			continue
		}
		if set != "" {
			return fmt.Errorf("%s and %s exclude each other", set, name)
		}
		if p == BeforeHeaders && (name == "eof" || name == "error") {
			return fmt.Errorf("%s cannot happen before_headers", name)
		}
		set = name
	}
	return nil
}

// parseFault reads the x-mock-fault header on top of a behaviour.
func parseFault(s string, b Behaviour) (Behaviour, error) {
	b.Header = b.Header.Clone()
	fields := b.fields()
	fields["header"] = b.addHeader
	for part := range strings.SplitSeq(s, ";") {
		key, value, hasValue := strings.Cut(part, "=")
		if key = strings.ReplaceAll(strings.TrimSpace(key), "-", "_"); key == "" && !hasValue {
			continue
		}
		set, ok := fields[key]
		if !ok {
			return b, unknownKey(key, fields)
		}
		if value = strings.TrimSpace(value); !hasValue {
			value = "true"
		}
		if err := set(value); err != nil {
			return b, fmt.Errorf("%s: %w", key, err)
		}
	}
	return b, b.check()
}

func setString(to *string) setter {
	return func(s string) error { *to = s; return nil }
}

func setParsed[T any](to *T, parse func(string) (T, error)) setter {
	return func(s string) error {
		v, err := parse(s)
		if err == nil {
			*to = v
		}
		return err
	}
}

func setDuration(to *time.Duration) setter {
	return setParsed(to, func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration: write a number and a unit, such as 20ms or 1.5s", s)
		}
		if d < 0 {
			return 0, fmt.Errorf("%q is negative", s)
		}
		return d, nil
	})
}

func setInt(to *int, low, high int) setter {
	return setParsed(to, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("%q is not a whole number from %d to %d", s, low, high)
		}
		return n, nil
	})
}

func setBool(to *bool) setter {
	return setWord(to, map[string]bool{"true": true, "false": false})
}

func setWord[T any](to *T, words map[string]T) setter {
	return setParsed(to, func(s string) (T, error) {
		v, ok := words[s]
		if !ok {
			return v, fmt.Errorf("%q is not one of %s", s, list(words))
		}
		return v, nil
	})
}

// parseReplay takes a path that stays below the directory of recordings.
func parseReplay(s string) (string, error) {
	if !fs.ValidPath(s) || s == "." {
		return "", fmt.Errorf("%q is not the name of a recording below replay.dir", s)
	}
	return s, nil
}

func parseProbability(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0 && f <= 1) {
		return 0, fmt.Errorf("%q is not a probability above 0 and up to 1", s)
	}
	return f, nil
}
