package config

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files; read the diff before keeping it")

// lookup is an environment of a few variables.
func lookup(vars map[string]string) Lookup {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

// One file per way of being wrong: everything wrong with it is reported at once.
func TestProblems(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/problems/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Parse("evergate.yaml", data, lookup(map[string]string{"EMPTY": "", "MY_KEY": "sk-env"}))
			var problems Problems
			if !errors.As(err, &problems) || c != nil {
				t.Fatalf("Parse = %v, %v; want no config, and problems", c, err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", problems.Error()+"\n")
			for _, secret := range []string{"hunter2", "sk-", "gsk-", "k-1"} {
				if strings.Contains(problems.Error(), secret) {
					t.Errorf("the problems show a secret (%s):\n%v", secret, problems)
				}
			}
		})
	}
}

func TestLoadWithoutFile(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"missing": filepath.Join(t.TempDir(), "none.yaml"), "directory": t.TempDir()} {
		_, err := Load(file, lookup(nil))
		var problems Problems
		if !errors.As(err, &problems) || len(problems) != 1 || problems[0].File != file {
			t.Errorf("%s: Load = %v, want one problem that names the file", name, err)
		}
		if got, want := errors.Is(err, fs.ErrNotExist), name == "missing"; got != want {
			t.Errorf("%s: errors.Is(err, fs.ErrNotExist) = %v, want %v", name, got, want)
		}
	}
}

// Mistakes in environment variables are problems too, by the variable's name.
func TestEnvironmentProblems(t *testing.T) {
	t.Parallel()
	const yaml = "providers: { openai: { type: openai, api_key: x } }"
	_, err := Parse("evergate.yaml", []byte(yaml), lookup(map[string]string{
		"RETRY_MAX_RETRIES": "many", "RETRY_INITIAL_BACKOFF": "5", "RETRY_BACKOFF_FACTOR": "0", "CIRCUIT_BREAKER_TIMEOUT": "soon",
		"CIRCUIT_BREAKER_FAILURE_THRESHOLD": "-1", "CACHE_REFRESH_INTERVAL": "1h", "PROVIDER_RECHECK_INTERVAL": "-1",
	}))
	want := strings.Join([]string{
		`environment: RETRY_MAX_RETRIES: "many" must be a whole number from 0 to 100`,
		`environment: RETRY_INITIAL_BACKOFF: "5" has no unit; it must be a duration such as 500ms, 30s, 5m or 1h, or 0; did you mean 5s?`,
		`environment: RETRY_BACKOFF_FACTOR: "0" must be a number from 1 to 100`,
		`environment: CIRCUIT_BREAKER_FAILURE_THRESHOLD: "-1" must be a whole number from 0 to 1000000`,
		`environment: CIRCUIT_BREAKER_TIMEOUT: "soon" must be a duration such as 500ms, 30s, 5m or 1h`,
		`environment: CACHE_REFRESH_INTERVAL: "1h" must be a whole number of seconds, without a unit`,
		`environment: PROVIDER_RECHECK_INTERVAL: "-1" must be a whole number of seconds, without a unit`,
	}, "\n")
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}
