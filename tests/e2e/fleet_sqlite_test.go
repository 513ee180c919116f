//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/testkit/servers"
)

// sqliteCLI is SQLite's own program, another one's word on whether a file is good.
func sqliteCLI(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		if os.Getenv(servers.Required) == "1" {
			t.Fatal("sqlite3 is missing: apt-get install sqlite3")
		}
		t.Skip("NOT TESTED by another program: sqlite3 is missing, apt-get install sqlite3")
	}
	return path
}

func integrity(t *testing.T, cli, file string) {
	t.Helper()
	out, err := exec.Command(cli, file, "PRAGMA integrity_check").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Fatalf("integrity_check of %s: %v: %s", file, err, out)
	}
}

// blocks are the ends of what an instance has blocked, by provider and, for keys, by their names.
func (v *fleetView) blocks() map[string]time.Time {
	all := map[string]time.Time{}
	for name, p := range v.Providers {
		if p.Breaker.State == "open" {
			all[name] = p.Breaker.RetryAt
		}
		for key, c := range p.Credentials {
			if c.State == "cooldown" {
				all[name+"/"+key] = c.CooldownUntil
			}
		}
	}
	return all
}

// sighting is a block's end, and when it was first seen.
type sighting struct{ end, at time.Time }

// watch looks at what an instance has blocked, again and again, until a moment.
func (g *gateway) watch(t *testing.T, until time.Time) map[string]sighting {
	t.Helper()
	seen := map[string]sighting{}
	for ; time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		v := g.sees(t)
		for name, end := range v.blocks() {
			if !seen[name].end.Equal(end) {
				seen[name] = sighting{end, time.Now()}
			}
		}
	}
	return seen
}

// herdSize is how many providers of either kind a gateway has that is killed: those whose breakers open, and those that refuse a key.
const herdSize = 24

// trouble is traffic that moves guards, until quit is called. It does not mind a gateway that is gone.
func (f *fleet) trouble(g *gateway) (quit func()) {
	stop := make(chan struct{})
	var traffic sync.WaitGroup
	for c := range 3 {
		traffic.Go(func() {
			for {
				name, m := fmt.Sprintf("open-%d", rand.N(herdSize)), mood(failing)
				if c == 0 {
					name, m = fmt.Sprintf("rest-%d", rand.N(herdSize)), refusing
				}
				f.up.set(name, m)
				_, _ = f.ask(g, name, "x")
				select {
				case <-stop:
					return
				case <-time.After(rand.N(100 * time.Millisecond)):
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(stop)
		traffic.Wait()
	})
}

// kept counts the blocks that were held against a restart.
type kept struct{ restored, young, lost int }

// settle is the age from which on a block has to outlive the process that saw it: that is written within some ten milliseconds.
const settle = 500 * time.Millisecond

// compare holds what an instance has blocked after a restart against what was seen before it was killed.
func (k *kept) compare(t *testing.T, seen map[string]sighting, killed time.Time, now map[string]time.Time) {
	t.Helper()
	checked := time.Now()
	for name, was := range seen {
		if was.end.Sub(checked) < 200*time.Millisecond {
			continue // it ends about now
		}
		honoured := now[name].After(was.end.Add(-100 * time.Millisecond)) // a later one may have begun after the last look
		switch age := killed.Sub(was.at); {
		case age < settle:
			k.young++
			if !honoured {
				k.lost++
			}
		case !honoured:
			t.Errorf("%s was blocked until %v, %v before the kill; after the restart it is until %v", name, was.end, age, now[name])
		default:
			k.restored++
		}
	}
}

// TestKilledWithSQLite kills a gateway at random moments, under traffic that opens breakers and rests keys, now and then also while it
// starts, and starts it again. Each time the file is good, and what blocked a while before the kill blocks until the same moment, over any
// number of restarts (R65).
func TestKilledWithSQLite(t *testing.T) {
	sideBySide(t)
	cli := sqliteCLI(t)
	n := rounds(15, 200)
	file := filepath.Join(t.TempDir(), "evergate.db")
	rest := "resilience: { retry: { max_retries: 0 }, cooldown: { failures: 0 }, circuit_breaker: { failure_threshold: 1, timeout: 12s }, credential_cooldown: { auth_base: 12s } }\n"
	f := newFleet(t, "sqlite:"+file, "1s", rest, herd{kind: "open", n: herdSize}, herd{kind: "rest", n: herdSize})
	g := f.join(t)
	var (
		all     kept
		starts  int
		readyIn []time.Duration
	)
	for round := 0; round < n && !t.Failed(); round++ {
		quit := f.trouble(g)
		seen := g.watch(t, time.Now().Add(rand.N(1200*time.Millisecond)))
		killed := time.Now()
		g.kill()
		quit()
		integrity(t, cli, file)
		if rand.N(3) == 0 {
			p := start(t, "a start that is killed", nil, evergate, "serve", "-c", g.file)
			time.Sleep(rand.N(200 * time.Millisecond))
			p.kill()
			integrity(t, cli, file)
			starts++
		}
		began := time.Now()
		f.again(t, g, nil, evergate)
		readyIn = append(readyIn, time.Since(began))
		v := g.sees(t)
		all.compare(t, seen, killed, v.blocks())
		f.asksNobody(t, g, v.blocks())
	}
	t.Logf("%d kills, and %d while it started: the file was good each time; %d blocks older than %v honoured after the restart; of %d younger ones %d were lost; ready after the restart: %s",
		n, starts, all.restored, settle, all.young, all.lost, shown(readyIn))
	if all.restored == 0 {
		t.Error("nothing was blocked")
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the file has %d KB", info.Size()>>10)
}

// asksNobody has some requests say that breakers are open.
func (f *fleet) asksNobody(t *testing.T, g *gateway, blocks map[string]time.Time) {
	t.Helper()
	asked := 0
	for name, end := range blocks {
		if strings.Contains(name, "/") || time.Until(end) < time.Second || asked == 3 {
			continue // a key, or about to end
		}
		asked++
		f.up.set(name, nil)
		f.mustAsk(t, g, name, "good")
		if got := f.up.got(name); len(got) > 0 {
			t.Errorf("%s was asked, whose breaker is open until %v", name, end)
		}
	}
}

// TestDiskFull fills the disk that SQLite's file is on, under clients: no request fails or waits, the file stays good, and with room on the disk the
// gateway writes again what happened meanwhile.
func TestDiskFull(t *testing.T) {
	cli := sqliteCLI(t)
	dir := t.TempDir()
	room := start(t, "a small disk", nil, "unshare", "-Urm", "sh", "-c", `mount -t tmpfs -o size=2m none "$0" && echo mounted && exec sleep 600`, dir)
	var refused string
	eventually(t, 10*time.Second, func() error {
		select {
		case <-room.done:
			refused = room.out.String()
			return nil
		default:
		}
		if !strings.Contains(room.out.String(), "mounted") {
			return errors.New("not mounted")
		}
		return nil
	})
	if refused != "" {
		t.Skipf("NOT TESTED: a full disk; this machine lets nobody mount one: %s", refused)
	}
	pid := strconv.Itoa(room.cmd.Process.Pid)
	inside := []string{"nsenter", "-t", pid, "-U", "-m", "--preserve-credentials", evergate}
	disk := filepath.Join("/proc", pid, "root", dir)
	f := newFleet(t, "sqlite:"+filepath.Join(dir, "evergate.db"), "500ms", quick("1h"), herd{kind: "early", n: 1}, herd{kind: "late", n: 1}, herd{kind: "many", n: 60},
		herd{kind: "shaky", n: 1, more: ", resilience: { circuit_breaker: { timeout: 300ms } }"})
	g := f.joinAs(t, nil, inside...)
	for _, name := range []string{"early-0", "late-0"} {
		f.up.set(name, failing)
	}
	f.up.set("shaky-0", shaky)
	c := f.under(t, 4, "shaky-0", "good")
	time.Sleep(lasting(time.Second, 3*time.Second))
	c.enter(calm)
	f.mustAsk(t, g, "early-0", "good")
	time.Sleep(lasting(2*time.Second, 10*time.Second))
	filler, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = filler.Close() }()
	fill := func() {
		block := make([]byte, 4096)
		for err = nil; err == nil; {
			_, err = filler.Write(block)
		}
	}
	c.enter("disk full")
	fill()
	for i := range 60 { // so many pages that there is no room for them in what the file has
		name := fmt.Sprintf("many-%d", i)
		f.up.set(name, failing)
		f.mustAsk(t, g, name, "good")
		fill()
	}
	f.mustAsk(t, g, "late-0", "good")
	eventually(t, 20*time.Second, func() error {
		fill()
		if v := g.sees(t); v.State.Reached {
			return fmt.Errorf("the store still takes everything")
		}
		return nil
	})
	t.Logf("full: %s", g.sees(t).State.Message)
	time.Sleep(lasting(2*time.Second, 10*time.Second))
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	if err := filler.Truncate(0); err != nil {
		t.Fatal(err)
	}
	c.enter(calm)
	began := time.Now()
	eventually(t, 20*time.Second, func() error {
		if v := g.sees(t); !v.State.Reached {
			return fmt.Errorf("the store is not used again: %s", v.State.Message)
		}
		return nil
	})
	t.Logf("used again %v after there was room", time.Since(began).Round(time.Millisecond))
	time.Sleep(time.Second)
	c.judge(t, nil)
	g.kill()
	integrity(t, cli, filepath.Join(disk, "evergate.db"))
	f.again(t, g, nil, inside...)
	for _, name := range []string{"early-0", "late-0", "many-0", "many-59"} {
		g.believes(t, name, "open", 0)
	}
}
