package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"evergate/bench/internal/llmreq"
)

// client is one keep-alive HTTP/1.1 connection that sends the same request
// again and again. It is written straight on the socket so that the load
// generator takes as little as possible of a small machine.
type client struct {
	addr    string
	req     []byte
	end     []byte // mark that ends a stream; nil: plain answers
	timeout time.Duration

	small  bool   // a small read buffer, for many clients that mostly wait
	onBody func() // called on each piece of a body, if set

	mu         sync.Mutex // of conn and aborted, against abort
	aborted    bool
	conn       net.Conn
	br         *bufio.Reader
	tail       []byte
	ended      bool // the end mark was seen
	reconnects int64
}

// answer is what one request brought.
type answer struct {
	status   int
	header   time.Duration // to the end of the header
	first    time.Duration // to the first byte of the body
	total    time.Duration
	bytes    int64 // of the body, chunk framing taken off
	events   int64 // "data:" lines
	complete bool
	sample   []byte // start of the body, when asked for
}

func renderRequest(t *target, body []byte, stream bool) (addr string, req []byte, err error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return "", nil, err
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); u.Scheme != "http" || ip == nil || !ip.IsLoopback() {
		return "", nil, fmt.Errorf("%s: only http:// to a loopback address is allowed", t.URL)
	}
	path := t.Path
	if path == "" {
		path = llmreq.Dialects[t.Dialect].Path
	}
	accept := "application/json"
	if stream {
		accept = "text/event-stream"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: gwbench\r\nAccept: %s\r\nContent-Type: application/json\r\n", strings.TrimRight(u.Path, "/")+path, u.Host, accept)
	if t.Dialect == "messages" {
		b.WriteString("anthropic-version: 2023-06-01\r\n")
	}
	for _, h := range t.Headers {
		b.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(body))
	b.Write(body)
	return u.Host, b.Bytes(), nil
}

// abort ends the request under way from another goroutine.
func (c *client) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.aborted = true
	if c.conn != nil {
		_ = c.conn.SetDeadline(time.Unix(1, 0))
	}
}

// arm sets the deadline of the request that begins now.
func (c *client) arm(deadline time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.aborted {
		return context.Canceled
	}
	return c.conn.SetDeadline(deadline)
}

func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

var errStale = errors.New("idle connection closed by the server")

// do sends the request once. A connection that the server closed while idle is
// replaced without counting an error.
func (c *client) do(ctx context.Context, sample bool) (answer, error) {
	reused := c.conn != nil
	a, err := c.try(ctx, sample)
	if errors.Is(err, errStale) && reused {
		a, err = c.try(ctx, sample)
	}
	return a, err
}

func (c *client) try(ctx context.Context, sample bool) (a answer, err error) {
	if c.conn == nil {
		d := net.Dialer{Timeout: 5 * time.Second}
		conn, err := d.DialContext(ctx, "tcp", c.addr)
		if err != nil {
			return a, err
		}
		c.mu.Lock()
		c.conn = conn
		c.mu.Unlock()
		if c.br == nil {
			size := 32 << 10
			if c.small {
				size = 2 << 10
			}
			c.br = bufio.NewReaderSize(c.conn, size)
		} else {
			c.br.Reset(c.conn)
		}
		c.reconnects++
	}
	keep := false
	defer func() {
		if !keep {
			c.close()
		}
	}()
	start := time.Now()
	if err = c.arm(start.Add(c.timeout)); err != nil {
		return a, err
	}
	if _, err = c.conn.Write(c.req); err != nil {
		return a, errStale
	}
	line, err := c.br.ReadSlice('\n')
	if err != nil {
		if len(line) == 0 && !isTimeout(err) {
			return a, errStale
		}
		return a, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return a, fmt.Errorf("bad status line %q", line)
	}
	closeAfter := line[7] == '0'
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return a, err
	}
	length, chunked := int64(-1), false
	for {
		line, err := c.br.ReadSlice('\n')
		if err != nil {
			return a, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, val, _ := bytes.Cut(line, []byte{':'})
		switch {
		case len(name) == 14 && bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(val)), 10, 64); err != nil {
				return a, err
			}
		case len(name) == 17 && bytes.EqualFold(name, []byte("transfer-encoding")):
			chunked = bytes.EqualFold(bytes.TrimSpace(val), []byte("chunked"))
		case len(name) == 10 && bytes.EqualFold(name, []byte("connection")):
			closeAfter = closeAfter || bytes.EqualFold(bytes.TrimSpace(val), []byte("close"))
		}
	}
	a.header = time.Since(start)
	c.tail, c.ended = c.tail[:0], false
	take := func(n int64) error {
		for n != 0 {
			if _, err := c.br.Peek(1); err != nil {
				if n < 0 && errors.Is(err, io.EOF) {
					return nil // ended by closing
				}
				return err
			}
			b, _ := c.br.Peek(c.br.Buffered())
			if n > 0 && int64(len(b)) > n {
				b = b[:n]
			}
			if a.bytes == 0 {
				a.first = time.Since(start)
			}
			a.bytes += int64(len(b))
			if c.onBody != nil {
				c.onBody()
			}
			if sample && len(a.sample) < 64<<10 {
				a.sample = append(a.sample, b...)
			}
			if c.end != nil {
				c.scan(b, &a)
			}
			_, _ = c.br.Discard(len(b))
			if n > 0 {
				n -= int64(len(b))
			}
		}
		return nil
	}
	switch {
	case chunked:
		for {
			line, err := c.br.ReadSlice('\n')
			if err != nil {
				return a, fmt.Errorf("stream cut: %w", err)
			}
			hex, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte{';'})
			n, err := strconv.ParseUint(string(hex), 16, 31)
			if err != nil {
				return a, err
			}
			if n > 0 {
				if err := take(int64(n)); err != nil {
					return a, fmt.Errorf("stream cut: %w", err)
				}
			}
			for {
				line, err := c.br.ReadSlice('\n')
				if err != nil {
					return a, fmt.Errorf("stream cut: %w", err)
				}
				if len(bytes.TrimRight(line, "\r\n")) == 0 {
					break
				}
			}
			if n == 0 {
				break
			}
		}
	case length >= 0:
		if err := take(length); err != nil {
			return a, fmt.Errorf("body cut: %w", err)
		}
	default:
		closeAfter = true
		if err := take(-1); err != nil {
			return a, err
		}
	}
	a.total = time.Since(start)
	a.complete = c.end == nil || a.status != 200 || c.ended
	keep = !closeAfter
	return a, nil
}

// scan counts the events of a stream, looks for its end mark and keeps its last bytes: the last event may be long, and its
// mark far from the stream's end.
func (c *client) scan(b []byte, a *answer) {
	if !c.ended {
		c.ended = bytes.Contains(b, c.end) || bytes.Contains(append(c.tail[max(0, len(c.tail)-len(c.end)):len(c.tail):len(c.tail)], b[:min(len(b), len(c.end))]...), c.end)
	}
	const mark = "data:"
	// An event mark may lie across two reads.
	carry := c.tail[max(0, len(c.tail)-len(mark)+1):]
	if len(carry) > 0 {
		var edge [2 * len(mark)]byte
		n := copy(edge[:], carry)
		n += copy(edge[n:], b[:min(len(b), len(mark)-1)])
		a.events += int64(bytes.Count(edge[:n], []byte(mark)))
	}
	a.events += int64(bytes.Count(b, []byte(mark)))
	const keep = 1024
	if len(b) >= keep {
		c.tail = append(c.tail[:0], b[len(b)-keep:]...)
		return
	}
	c.tail = append(c.tail, b...)
	if len(c.tail) > 4*keep {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-keep:]...)
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}
