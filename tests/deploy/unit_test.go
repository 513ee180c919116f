package deploy

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

const unit = "deploy/systemd/evergate.service"

// mostExposed is the score of systemd-analyze security, 0 to 100, that the unit must not exceed: what is left is the network,
// and that a new process may say that it serves.
const mostExposed = 15

// machine is a root folder in which the unit and what it names are installed.
func machine(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for to, from := range map[string]string{
		"etc/systemd/system/evergate.service":  unit,
		"usr/lib/sysusers.d/evergate.conf":     "deploy/systemd/evergate.sysusers",
		"usr/lib/tmpfiles.d/evergate.conf":     "deploy/systemd/evergate.tmpfiles",
		"etc/evergate/evergate.yaml":           "deploy/systemd/evergate.yaml",
		"etc/evergate/env":                     "deploy/systemd/example.env",
		"usr/local/share/doc/evergate/none.md": "docs/operations.md",
	} {
		put(t, filepath.Join(dir, to), text(t, from), 0o644)
	}
	for _, name := range []string{"usr/local/bin/evergate", "bin/kill"} {
		put(t, filepath.Join(dir, name), "", 0o755)
	}
	targets, err := filepath.Glob("/lib/systemd/system/*.target")
	if err != nil || len(targets) == 0 {
		t.Fatalf("systemd's own targets: %v, %v", targets, err)
	}
	for _, target := range targets {
		data, err := os.ReadFile(target)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, "usr/lib/systemd/system", filepath.Base(target)), string(data), 0o644)
	}
	return dir
}

func TestUnitIsSoundAndConfined(t *testing.T) {
	dir := machine(t)
	analyze := tool(t, "systemd-analyze")
	if said := command(t, analyze, "verify", "--man=no", "--recursive-errors=no", "--root="+dir, "evergate.service"); said != "" {
		t.Errorf("systemd-analyze verify has doubts:\n%s", said) // an unknown key is no error to it
	}
	said := command(t, analyze, "security", "--no-pager", "--offline=true", "--threshold="+strconv.Itoa(mostExposed), "--root="+dir, "evergate.service")
	t.Log(said[strings.LastIndex(said, "Overall"):])
}

func TestUnitsUserAndFoldersAreMade(t *testing.T) {
	dir := machine(t)
	command(t, tool(t, "systemd-sysusers"), "--root="+dir)
	command(t, tool(t, "systemd-tmpfiles"), "--create", "--root="+dir)
	passwd, err := os.ReadFile(filepath.Join(dir, "etc/passwd"))
	if err != nil || !regexp.MustCompile(`(?m)^evergate:.*nologin$`).Match(passwd) {
		t.Errorf("%v\n%s", err, passwd)
	}
	for name, mode := range map[string]os.FileMode{"etc/evergate": 0o750 | os.ModeSetgid, "etc/evergate/evergate.yaml": 0o640, "etc/evergate/env": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode()&^os.ModeDir != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// setting is what the unit says under a key, once.
func setting(t *testing.T, key string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllStringSubmatch(text(t, unit), -1)
	if len(m) != 1 {
		t.Fatalf("%s stands %d times in the unit", key, len(m))
	}
	return m[0][1]
}

func TestUnitWaitsForTheDrain(t *testing.T) {
	config := text(t, "deploy/systemd/evergate.yaml")
	checkConfig(t, config)
	var c struct {
		Server struct {
			Grace string `json:"shutdown_grace"`
		} `json:"server"`
	}
	if err := yaml.Unmarshal([]byte(config), &c); err != nil {
		t.Fatal(err)
	}
	if need := seconds(t, c.Server.Grace) + 5*time.Second; seconds(t, setting(t, "TimeoutStopSec")+"s") < need {
		t.Errorf("TimeoutStopSec is %s, the gateway may take %v", setting(t, "TimeoutStopSec"), need)
	}
}

// The unit's own command line, with the folders that systemd would make: it says that it serves, reloads on the unit's signal,
// hands over to a new process on SIGUSR2, which says so in turn, and ends on SIGTERM.
func TestUnitsCommandServesAndHandsOver(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"etc", "run", "lib"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	config := text(t, "deploy/systemd/evergate.yaml")
	port := ports(t, 2)
	put(t, filepath.Join(dir, "etc/evergate.yaml"), strings.NewReplacer(":8080", ":"+port[0], ":9090", ":"+port[1]).Replace(config), 0o600)
	line := strings.NewReplacer("/usr/local/bin/evergate", program(t), "/etc/evergate/", dir+"/etc/", "/run/evergate/", dir+"/run/").Replace(setting(t, "ExecStart"))
	argv := strings.Fields(line)

	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	heard := func(want string) {
		t.Helper()
		_ = socket.SetReadDeadline(time.Now().Add(20 * time.Second))
		buf := make([]byte, 4096)
		n, err := socket.Read(buf)
		if err != nil || !strings.Contains(string(buf[:n]), want) {
			t.Fatalf("it told systemd %q, %v; want %s", buf[:n], err, want)
		}
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = filepath.Join(dir, "lib"), append(keys(config), "NOTIFY_SOCKET="+filepath.Join(dir, "notify"))
	out, err := os.Create(filepath.Join(dir, "out")) // a file, as both processes have it
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stderr = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		if pid, err := os.ReadFile(filepath.Join(dir, "run/evergate.pid")); err == nil { // of whoever took over from it
			if second, err := strconv.Atoi(strings.TrimSpace(string(pid))); err == nil {
				_ = syscall.Kill(second, syscall.SIGKILL)
			}
		}
		if said, err := os.ReadFile(out.Name()); err == nil && t.Failed() {
			t.Logf("it said:\n%s", said)
		}
	})
	heard("READY=1")

	if !strings.Contains(setting(t, "ExecReload"), "-HUP $MAINPID") || cmd.Process.Signal(syscall.SIGHUP) != nil {
		t.Error("it is not told to reload")
	}
	if err := cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	heard("MAINPID=")
	if err := cmd.Wait(); err != nil {
		t.Errorf("the first process: %v", err)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "run/evergate.pid"))
	second, err2 := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil || err2 != nil || second == cmd.Process.Pid {
		t.Fatalf("the pid file has %q, %v", pid, err)
	}
	if err := syscall.Kill(second, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	heard("STOPPING=1")
	if _, err := os.Stat(filepath.Join(dir, "lib/evergate.db")); err != nil {
		t.Errorf("the state is not in the state folder: %v", err)
	}
	if setting(t, "Type") != "notify" || setting(t, "NotifyAccess") != "all" {
		t.Error("systemd would not hear of a new process")
	}
}
