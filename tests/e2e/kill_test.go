package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// outcome is what became of one request.
type outcome struct {
	streamed bool
	start    time.Time
	content  bool   // content had reached the client when it ended
	finished bool   // the answer came to its proper end
	provider string // that answered
	err      error
}

// TestKillUnderLoad kills the first of two model servers under 20 clients. No request may be lost that had not streamed
// content yet; the dead server's breaker opens (R20); after a restart it is probed and used again (R22-R24).
func TestKillUnderLoad(t *testing.T) {
	const clients = 20
	alpha.ensure(t)
	beta.ensure(t)
	g := serve(t, modelConfig(""), "")
	client := goClient(g.url)

	var (
		mu       sync.Mutex
		outcomes []outcome
		answered atomic.Int64
		midway   atomic.Int64 // streams that have brought content and go on
		stopping atomic.Bool
		load     sync.WaitGroup
	)
	for n := range clients {
		load.Go(func() {
			for !stopping.Load() {
				o := once(t.Context(), client, n%2 == 0, &midway)
				mu.Lock()
				outcomes = append(outcomes, o)
				mu.Unlock()
				switch {
				case o.err == nil:
					answered.Add(1)
				case !o.content && t.Context().Err() == nil:
					t.Errorf("lost: streamed=%v, %v after its start: %v", o.streamed, time.Since(o.start), o.err)
					return // one is enough from a client; it would go on failing as fast as it can
				}
			}
		})
	}
	defer load.Wait()
	defer stopping.Store(true)
	eventually(t, time.Minute, func() error { return atLeast(&answered, clients) })
	eventually(t, 10*time.Second, func() error { return atLeast(&midway, 1) }) // so that one is cut
	killed := time.Now()
	alpha.kill()
	eventually(t, 30*time.Second, func() error {
		if h := g.health(t, "a"); h.Breaker.State != "open" {
			return fmt.Errorf("breaker of a: %+v", h.Breaker)
		}
		return nil
	})
	opened := time.Since(killed)
	answered.Store(0)
	eventually(t, time.Minute, func() error { return atLeast(&answered, clients) })
	stopping.Store(true)
	load.Wait()

	var lost, cut, rescued, disguised int
	for _, o := range outcomes {
		switch {
		case o.err != nil && o.content: // streamed content before the kill: an error is right (R15)
			cut++
		case o.err != nil:
			lost++ // and reported
		case !o.finished:
			disguised++
			t.Errorf("an answer that did not finish ended without an error: %+v", o)
		case o.provider == "b" && o.start.Before(killed):
			rescued++
		}
	}
	t.Logf("%d requests: %d rescued by failover, %d cut after content, %d lost, %d ended falsely; breaker open after %v",
		len(outcomes), rescued, cut, lost, disguised, opened.Round(time.Millisecond))
	if rescued == 0 {
		t.Error("no request was under way at the killed server: the test proved nothing")
	}

	alpha.ensure(t)
	eventually(t, time.Minute, func() error {
		o := once(t.Context(), client, false, &midway)
		if o.err != nil {
			t.Errorf("lost after the restart: %v", o.err)
		}
		if o.provider != "a" {
			return fmt.Errorf("answered by %q", o.provider)
		}
		return nil
	})
	if h := g.health(t, "a"); h.Breaker.State != "closed" || h.Breaker.ConsecutiveFailures != 0 {
		t.Errorf("breaker of a after its return: %+v", h.Breaker)
	}
}

func atLeast(n *atomic.Int64, want int64) error {
	if got := n.Load(); got < want {
		return fmt.Errorf("%d of %d requests", got, want)
	}
	return nil
}

// once sends one chat request and reads the answer to its end. While a stream has brought content it counts in midway.
func once(ctx context.Context, client openai.Client, streamed bool, midway *atomic.Int64) outcome {
	o := outcome{streamed: streamed, start: time.Now()}
	var resp *http.Response
	request := ask("fast", 6)
	if !streamed {
		var r *openai.ChatCompletion
		r, o.err = client.Chat.Completions.New(ctx, request, option.WithResponseInto(&resp))
		o.finished = o.err == nil && len(r.Choices) == 1 && r.Choices[0].FinishReason != ""
		o.provider = answeredBy(resp)
		return o
	}
	s := client.Chat.Completions.NewStreaming(ctx, request, option.WithResponseInto(&resp))
	for s.Next() {
		for _, choice := range s.Current().Choices {
			if choice.Delta.Content != "" && !o.content {
				o.content = true
				midway.Add(1)
				defer midway.Add(-1)
			}
			o.finished = o.finished || choice.FinishReason != ""
		}
	}
	o.err = s.Err()
	o.provider = answeredBy(resp)
	return o
}

func answeredBy(resp *http.Response) string {
	if resp == nil {
		return ""
	}
	return resp.Header.Get("X-Evergate-Provider")
}
