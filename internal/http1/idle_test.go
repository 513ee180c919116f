package http1

import (
	"bufio"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/testkit"
)

// Connections that wait too long are closed, whether or not a request comes.
func TestIdleTimeout(t *testing.T) {
	rig(t, answering(ok), func(t *testing.T, c *Client, p *peer) {
		busy := func() {
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { _, _ = ask(t, c, post("{}")) })
			}
			wg.Wait()
		}
		busy()
		n := waiting(c)
		if n == 0 || int(p.conns.Load()) != n {
			t.Fatalf("%d wait of %d", n, p.conns.Load())
		}
		time.Sleep(80 * time.Second)
		if _, err := ask(t, c, post("{}")); err != nil || int(p.conns.Load()) != n {
			t.Fatalf("%v, %d connections", err, p.conns.Load())
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if n := waiting(c); n != 1 {
			t.Errorf("%d wait, want the one that was used since", n)
		}
		time.Sleep(91 * time.Second)
		synctest.Wait()
		if c.mu.Lock(); len(c.idle) != 0 || c.sweep != nil {
			t.Errorf("%d wait, timer %v", len(c.idle), c.sweep)
		}
		c.mu.Unlock()
		if _, err := ask(t, c, post("{}")); err != nil || int(p.conns.Load()) != n+1 {
			t.Errorf("%v, %d connections", err, p.conns.Load())
		}
	})
}

// What its peer has ended, or sent something on without being asked, carries no request.
func TestIdleThatIsNotQuiet(t *testing.T) {
	for name, stir := range map[string]func(c testkit.ResetConn){
		"ended":    func(testkit.ResetConn) {},
		"reset":    func(c testkit.ResetConn) { _ = c.Reset() },
		"has sent": func(c testkit.ResetConn) { _, _ = io.WriteString(c, ok); time.Sleep(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			rig(t, func(n int32, c testkit.ResetConn) {
				in := bufio.NewReader(c)
				for take(in) == nil {
					_, _ = io.WriteString(c, ok)
					if n == 1 {
						time.Sleep(time.Second)
						stir(c)
						return
					}
				}
			}, func(t *testing.T, c *Client, p *peer) {
				for range 2 {
					if body, err := ask(t, c, post("{}")); err != nil || body != "ok" {
						t.Errorf("%q, %v", body, err)
					}
					time.Sleep(2 * time.Second)
				}
				if p.conns.Load() != 2 {
					t.Errorf("%d connections, want 2", p.conns.Load())
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// No more wait than MaxIdle; none after Close, which leaves requests alone that are under way.
func TestIdleBounds(t *testing.T) {
	rig(t, func(_ int32, c testkit.ResetConn) {
		in := bufio.NewReader(c)
		for take(in) == nil {
			time.Sleep(time.Second)
			_, _ = io.WriteString(c, ok)
		}
	}, func(t *testing.T, c *Client, p *peer) {
		var wg sync.WaitGroup
		all := func() {
			for range 9 {
				wg.Go(func() {
					if body, err := ask(t, c, post("{}")); err != nil || body != "ok" {
						t.Errorf("%q, %v", body, err)
					}
				})
			}
		}
		all()
		wg.Wait()
		if waiting(c) != 4 || p.conns.Load() != 9 {
			t.Errorf("%d wait of %d", waiting(c), p.conns.Load())
		}
		all()
		synctest.Wait()
		c.Close()
		wg.Wait()
		if waiting(c) != 0 || c.sweep != nil {
			t.Errorf("%d wait after Close", waiting(c))
		}
	})
}

// A fresh request takes none of the connections that wait.
func TestFresh(t *testing.T) {
	rig(t, answering(ok), func(t *testing.T, c *Client, p *peer) {
		for range 2 {
			r := post("{}")
			r.Fresh = true
			if _, err := ask(t, c, r); err != nil {
				t.Fatal(err)
			}
		}
		if p.conns.Load() != 2 {
			t.Errorf("%d connections, want 2", p.conns.Load())
		}
	})
}
