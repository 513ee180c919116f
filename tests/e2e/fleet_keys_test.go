package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// keyFleet is a fleet whose callers need a key.
func keyFleet(t *testing.T, state string, n int) *fleet {
	t.Helper()
	f := newFleet(t, state, "5s", "auth: { mode: keys }\n")
	for range n {
		f.join(t)
	}
	f.acquainted(t)
	return f
}

// keyOrder is what the admin API answers to an order about keys.
type keyOrder struct {
	ID, Name, Key, State string
	Keys                 []keyOrder
}

func (f *fleet) keys(t *testing.T, g *gateway, method, path, body string) (out keyOrder) {
	t.Helper()
	r, err := http.NewRequest(method, g.url+"/admin/v1/keys"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := f.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 || json.Unmarshal(text, &out) != nil {
		t.Fatalf("%s %s: %s %s %v", method, path, resp.Status, text, err)
	}
	return out
}

// let is the status that a key gets from an instance.
func (f *fleet) let(g *gateway, key string) (int, error) {
	r, err := http.NewRequest(http.MethodGet, g.url+"/v1/models", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := f.client.Do(r)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Body.Close()
}

// until waits until all instances give a status for a key, and says how long that took.
func (f *fleet) until(t *testing.T, key string, want int) time.Duration {
	t.Helper()
	began := time.Now()
	for _, g := range f.all {
		for {
			status, err := f.let(g, key)
			if err != nil {
				t.Fatal(err)
			}
			if status == want {
				break
			}
			if time.Since(began) > 10*time.Second {
				t.Fatalf("%s still answers %d, not %d", g.url, status, want)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return time.Since(began)
}

// A key that is made on one instance serves on all of them, and one that is revoked is refused by all of them within a second, under load; a restart loses
// nothing, and the store has no key in it.
func TestFleetKeys(t *testing.T) {
	eachServer(t, func(t *testing.T, s *stateServer) { testFleetKeys(t, s.url(s.addr)) })
	t.Run("sqlite", func(t *testing.T) {
		sideBySide(t)
		file := filepath.Join(t.TempDir(), "state.db")
		secrets := testFleetKeys(t, "sqlite:"+file)
		files, _ := filepath.Glob(file + "*")
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range secrets {
				if strings.Contains(string(text), secret[14:57]) {
					t.Errorf("%s has a key in it", name)
				}
			}
		}
	})
}

func testFleetKeys(t *testing.T, state string) (secrets []string) {
	t.Helper()
	instances := 3
	if strings.HasPrefix(state, "sqlite:") { // a file is one process's
		instances = 1
	}
	f := keyFleet(t, state, instances)
	first := f.keys(t, f.all[0], "POST", "", `{"name":"first"}`)
	f.until(t, first.Key, http.StatusOK)
	var slowest time.Duration
	for n := range rounds(4, 50) {
		made := f.keys(t, f.all[n%len(f.all)], "POST", "", fmt.Sprintf(`{"name":"k%d","labels":{"round":"%d"}}`, n, n))
		secrets = append(secrets, made.Key)
		if took := f.until(t, made.Key, http.StatusOK); took > time.Second {
			t.Errorf("a key serves everywhere after %s", took)
		}
		var served atomic.Int64
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() { // somebody who goes on with it
			defer close(done)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if status, err := f.let(f.all[i%len(f.all)], made.Key); err == nil && status == http.StatusOK {
					served.Add(1)
				}
			}
		}()
		time.Sleep(20 * time.Millisecond)
		f.keys(t, f.all[(n+1)%len(f.all)], "DELETE", "/"+made.ID, "")
		took := f.until(t, made.Key, http.StatusUnauthorized)
		close(stop)
		<-done
		if slowest = max(slowest, took); took > time.Second {
			t.Errorf("a revoked key is refused everywhere after %s", took)
		}
		if served.Load() == 0 {
			t.Error("nobody was served before that")
		}
	}
	t.Logf("a revoked key is refused by all %d instances after %s at most", len(f.all), slowest.Round(time.Millisecond))
	turned := f.keys(t, f.all[0], "POST", "/first/rotate", `{"overlap":"1h"}`)
	secrets = append(secrets, first.Key, turned.Key)
	f.until(t, turned.Key, http.StatusOK)
	f.until(t, first.Key, http.StatusOK)
	f.all[0].kill()
	f.again(t, f.all[0], nil, evergate)
	f.until(t, turned.Key, http.StatusOK)
	for _, k := range f.keys(t, f.all[0], "GET", "", "").Keys {
		if want := map[bool]string{true: "rotating", false: "revoked"}[k.Name == "first"]; k.State != want {
			t.Errorf("%s is %s, not %s", k.Name, k.State, want)
		}
	}
	return secrets
}
