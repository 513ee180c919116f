// Package providertest holds a vendor to its corpus of error responses: what each of them must become, and that every
// line of the vendor's fault table is needed by one. The files are those of internal/provider/testdata/faults in form.
// Only tests import it.
package providertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evergate/internal/fault"
	"evergate/internal/provider"
)

// response is one file of a corpus.
type response struct {
	facts  map[string]string
	status int
	header http.Header
	body   []byte
}

// Faults checks a vendor against testdata/faults of the package under test.
func Faults(t *testing.T, v *provider.Vendor) {
	t.Helper()
	paths, err := filepath.Glob("testdata/faults/*.http")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	corpus := map[string]response{}
	for _, path := range paths {
		corpus[strings.TrimSuffix(filepath.Base(path), ".http")] = read(t, path)
	}
	c := client(t, v)
	for name, r := range corpus {
		t.Run(name, func(t *testing.T) { check(t, c, r) })
	}
	for i, line := range v.Faults {
		if line.InBody && line.Codes == nil && line.Says == nil && line.Limits == nil {
			t.Errorf("line %d of the vendor's table (%v) holds for whatever is wrong with a 200", i, line.Class)
		}
		without := *v
		without.Faults = slices.Delete(slices.Clone(v.Faults), i, i+1)
		c := client(t, &without)
		needed := false
		for _, r := range corpus {
			f := classify(c, r)
			needed = needed || f.Class.String() != r.facts["class"] || f.Seal != (r.facts["seal"] == "true")
		}
		if !needed {
			t.Errorf("line %d of the vendor's table (%v, %q %q %q) decides no file of the corpus, or none otherwise than what comes after it",
				i, line.Class, line.Codes, line.Says, line.Limits)
		}
	}
}

// client is a client that never connects.
func client(t *testing.T, v *provider.Vendor) *provider.Client {
	t.Helper()
	c, err := provider.New(provider.Options{
		Name: "up", BaseURL: &url.URL{Scheme: "http", Host: "up.test"}, Vendor: v,
		Credentials: []provider.Credential{{Name: "default", Value: "sk-test-operator-0001"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func check(t *testing.T, c *provider.Client, r response) {
	t.Helper()
	f := classify(c, r)
	if f.Class.String() != r.facts["class"] || f.Seal != (r.facts["seal"] == "true") {
		t.Errorf("class %v, seal %v, want %q, seal %q: %s", f.Class, f.Seal, r.facts["class"], r.facts["seal"], f.Message)
	}
	wait := ""
	if f.Wait.Named {
		wait = f.Wait.For.String()
	}
	if r.facts["wait"] != "" && wait != r.facts["wait"] {
		t.Errorf("wait %q, want %q", wait, r.facts["wait"])
	}
	if f.Message == "" {
		t.Error("no message")
	}
	if again := c.Refine(f); again.Class != f.Class || again.Seal != f.Seal || again.Message != f.Message {
		t.Errorf("refined again: %v", again)
	}
}

// classify is what attempt makes of a response; an error within a 200 comes with the words that a dialect finds in it.
func classify(c *provider.Client, r response) *fault.Fault {
	if r.facts["in-body"] == "" {
		return c.Classify(r.status, r.header, r.body, "", "")
	}
	var body struct {
		Error struct{ Code, Type, Status, Message string }
	}
	_ = json.Unmarshal(r.body, &body) // a body that is none has no words
	code := body.Error.Code
	if code == "" {
		code = body.Error.Type
	}
	return c.Refine(&fault.Fault{Class: fault.Invalid, Status: r.status, Code: code, Message: body.Error.Message, Body: r.body})
}

func read(t *testing.T, path string) response {
	t.Helper()
	b, err := os.ReadFile(path) //nolint:gosec // a file of the package's own testdata
	if err != nil {
		t.Fatal(err)
	}
	r := response{facts: map[string]string{}}
	head, rest, _ := bytes.Cut(b, []byte("\n\n"))
	for line := range strings.Lines(string(head)) {
		key, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), ": ")
		r.facts[key] = value
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(rest)), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close() //nolint:errcheck // it is memory
	r.status, r.header = resp.StatusCode, resp.Header
	if r.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return r
}
