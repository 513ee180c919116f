package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evergate/internal/importer"
)

const litellmSample = "model_list: [{ model_name: fast, litellm_params: { model: openai/gpt-4o-mini, api_key: LITERAL-SECRET } }]\nunheard_of: 1\n"

// The config goes where it is to go, the report to standard error, and a file that is there already stays.
func TestImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, to := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "evergate.yaml")
	if err := os.WriteFile(in, []byte(litellmSample), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(k importCmd, stdin string) (out, report string, err error) {
		var o, r bytes.Buffer
		err = k.run(strings.NewReader(stdin), &o, &r)
		return o.String(), r.String(), err
	}
	out, report, err := run(importCmd{Format: "litellm", File: in}, "")
	if err != nil || !strings.Contains(out, "targets: [openai/gpt-4o-mini]") || !strings.Contains(report, "config.yaml:2: unheard_of: is unknown") {
		t.Fatalf("%v\n%s\n%s", err, out, report)
	}
	if strings.Contains(out+report, "LITERAL-SECRET") {
		t.Error("a secret of the source was written")
	}
	if again, _, err := run(importCmd{Format: "litellm", File: "-"}, litellmSample); err != nil || strings.ReplaceAll(again, "from -.", "from config.yaml.") != out {
		t.Errorf("from standard input it is another: %v\n%s", err, again)
	}
	_, report, err = run(importCmd{Format: "litellm", File: in, Out: to, Report: "json"}, "")
	var r importer.Report
	if err != nil || json.Unmarshal([]byte(report), &r) != nil || r.Format != "litellm" || r.Keys != 4 || r.Left != 1 {
		t.Errorf("%v\n%s", err, report)
	}
	if written, err := os.ReadFile(to); err != nil || string(written) != out {
		t.Errorf("%v\n%s", err, written)
	}
	if _, _, err := run(importCmd{Format: "litellm", File: in, Out: to}, ""); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v; a file that is there is not replaced", err)
	}
	if _, _, err := run(importCmd{Format: "litellm", File: in, Out: to, Force: true}, ""); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct{ k importCmd }{
		{importCmd{Format: "litellm", File: filepath.Join(dir, "none")}},
		{importCmd{Format: "other", File: in}},
		{importCmd{Format: "portkey", File: in}},
	} {
		if out, _, err := run(tt.k, ""); err == nil || out != "" {
			t.Errorf("%+v: %v, and this was written: %s", tt.k, err, out)
		}
	}
}
