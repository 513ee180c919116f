package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// refereeSDKs are the languages whose official SDKs ask, too, by the scripts that do it.
var refereeSDKs = map[string]string{"python": "referee.py", "typescript": "referee.js"}

// installed says whether an SDK's script can be run.
func installed(t *testing.T, sdk string) bool {
	t.Helper()
	argv := command(refereeSDKs[sdk])
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Logf("without the SDKs of %s: %v", sdk, err)
		return false
	}
	if _, err := os.Stat(argv[1]); err != nil {
		t.Logf("without the SDKs of %s: %v", sdk, err)
		return false
	}
	return true
}

// sdkAsk is what a script is to ask.
type sdkAsk struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Client string `json:"client"`
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
}

// askBySDK has an SDK ask in all of these cases, in a process of its own.
func askBySDK(t *testing.T, all *sync.WaitGroup, sdk string, cases []*refereeCase) {
	t.Helper()
	asks := make([]sdkAsk, len(cases))
	for i, c := range cases {
		asks[i] = sdkAsk{c.name, c.gateway, c.client.name, c.name, c.stream}
	}
	data, err := json.Marshal(asks)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "asks.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, sdk, []string{"ASKS=" + file}, command(refereeSDKs[sdk])...)
	all.Go(func() {
		select {
		case <-p.done:
		case <-time.After(90 * time.Second):
			p.kill()
		}
		answers := sdkAnswers(p.out.String())
		for _, c := range cases {
			if c.got = answers[c.name]; c.got == nil {
				c.got = &got{breach: "the SDK did not say what it got: " + tail(p.out.String(), 3)}
			}
			c.look(context.Background())
		}
	})
}

// sdkAnswers reads what a script printed.
func sdkAnswers(out string) map[string]*got {
	answers := map[string]*got{}
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Name, Text, Finish, Model, Breach string
			Status, In, Out                   int
			Seconds                           float64
			Error                             *struct{ Kind, Code, Message string }
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Name == "" {
			continue
		}
		g := &got{
			status: line.Status, text: line.Text, finish: line.Finish, model: line.Model, breach: line.Breach, in: line.In, out: line.Out,
			took: time.Duration(line.Seconds * float64(time.Second)),
		}
		if line.Error != nil {
			g.err = &raised{fmt.Sprint(line.Error.Kind), line.Error.Code, line.Error.Message}
		}
		answers[line.Name] = g
	}
	return answers
}
