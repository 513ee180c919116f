package deploy

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the top of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// text is a file of the repository.
func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// put writes a file, with the folders it needs, that others can read.
func put(t *testing.T, name, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// tool is a program that `make deploy-check` installs.
func tool(t *testing.T, name string) string {
	t.Helper()
	if own := filepath.Join(root(t), ".venv/bin", name); isFile(own) {
		return own
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: scripts/install-deploy-tools installs it", name)
	}
	return path
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// command runs a program to its end and returns what it printed; on failure the test fails.
func command(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

var variable = regexp.MustCompile(`\$\{([A-Z0-9_]+)`)

// keys gives each variable that a config reads a value that would do, and EVERGATE_ADMIN_TOKEN.
func keys(config string) []string {
	env := []string{"EVERGATE_ADMIN_TOKEN=admin-token-of-a-test"}
	for _, m := range variable.FindAllStringSubmatch(config, -1) {
		if m[1] != "EVERGATE_ADMIN_TOKEN" {
			env = append(env, m[1]+"=key-of-a-test")
		}
	}
	return env
}

// checkConfig has the program check a config with nothing else in the environment than what it reads. It must have no doubts.
func checkConfig(t *testing.T, config string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "evergate.yaml")
	put(t, file, config, 0o600)
	cmd := exec.CommandContext(t.Context(), program(t), "check", "-c", file)
	cmd.Env = keys(config)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning:") {
		t.Errorf("evergate check: %v\n%s\nof\n%s", err, out, config)
	}
}
