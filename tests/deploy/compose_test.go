package deploy

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"sigs.k8s.io/yaml"
)

// composed is the compose project as `docker compose --env-file example.env config` would see it, with more variables.
func composed(t *testing.T, env ...string) *types.Project {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deploy/compose")
	for _, name := range []string{"compose.yaml", "example.env", "config/evergate.yaml"} {
		put(t, filepath.Join(dir, name), text(t, "deploy/compose/"+name), 0o600)
	}
	put(t, filepath.Join(dir, ".env"), text(t, "deploy/compose/example.env"), 0o600)
	o, err := cli.NewProjectOptions([]string{filepath.Join(dir, "compose.yaml")}, cli.WithWorkingDirectory(dir), cli.WithEnv(env), cli.WithEnvFiles(), cli.WithDotEnv, cli.WithDefaultProfiles(), cli.WithInterpolation(true))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestComposeHasTwoInstancesAndOneStore(t *testing.T) {
	for store, env := range map[string][]string{
		"redis":    nil, // as example.env has it
		"postgres": {"COMPOSE_PROFILES=postgres", "EVERGATE_STATE_URL=" + commented(t, "EVERGATE_STATE_URL")},
	} {
		t.Run(store, func(t *testing.T) {
			p := composed(t, env...)
			if got, want := slices.Sorted(maps.Keys(p.Services)), []string{"evergate-1", "evergate-2", store}; !slices.Equal(got, want) {
				t.Fatalf("services %v, want %v", got, want)
			}
			for _, name := range []string{"evergate-1", "evergate-2"} {
				s := p.Services[name]
				url := s.Environment["EVERGATE_STATE_URL"]
				if url == nil || !strings.HasPrefix(*url, store+"://") {
					t.Fatalf("%s keeps its state in %v", name, url)
				}
				config := text(t, "deploy/compose/config/evergate.yaml")
				checkConfig(t, config+"\nstate: { url: \""+*url+"\" }\n")
				if !s.ReadOnly || s.User != "65532:65532" || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
					t.Errorf("%s has more rights than it needs", name)
				}
				if s.Build == nil || !strings.HasSuffix(filepath.Join(s.Build.Context, s.Build.Dockerfile), "/"+dockerfile) {
					t.Errorf("%s is built of %+v", name, s.Build)
				}
				for _, port := range s.Ports {
					if port.HostIP != "127.0.0.1" || port.Target != 8080 {
						t.Errorf("%s publishes %+v", name, port)
					}
				}
			}
			// The store is where the address says, and nobody else gets there.
			s := p.Services[store]
			if _, ok := s.Networks["store"]; !ok || len(s.Networks) != 1 || !p.Networks["store"].Internal || len(s.Ports) != 0 {
				t.Errorf("%s is in %v", store, s.Networks)
			}
		})
	}
}

// Without a line in .env it is as with example.env.
func TestComposeHasTheDefaultsOfItsExample(t *testing.T) {
	url := *composed(t).Services["evergate-1"].Environment["EVERGATE_STATE_URL"]
	if want := "${EVERGATE_STATE_URL:-" + url + "}"; !strings.Contains(text(t, "deploy/compose/compose.yaml"), want) {
		t.Errorf("compose.yaml has no %s", want)
	}
}

// commented is the value that example.env has for a variable in a comment.
func commented(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.Lines(text(t, "deploy/compose/example.env")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "#"+name+"="); ok {
			return value
		}
	}
	t.Fatalf("example.env has no #%s=", name)
	return ""
}

// Docker kills after stop_grace_period whatever still runs.
func TestComposeWaitsForTheDrain(t *testing.T) {
	var config struct {
		Server struct {
			Delay string `json:"shutdown_delay"`
			Grace string `json:"shutdown_grace"`
		} `json:"server"`
	}
	if err := yaml.Unmarshal([]byte(text(t, "deploy/compose/config/evergate.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	need := seconds(t, config.Server.Delay) + seconds(t, config.Server.Grace)
	for name, s := range composed(t).Services {
		if strings.HasPrefix(name, "evergate") && (s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) < need+5*time.Second) {
			t.Errorf("%s: stop_grace_period is %v, the gateway may take %v", name, s.StopGracePeriod, need)
		}
	}
}

func seconds(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A service as compose would start it, in what stands for its container: it serves, writes to nothing but its volume, is found
// healthy by the image's own check, and ends when it is told to.
func TestComposeServiceRuns(t *testing.T) {
	s := composed(t).Services["evergate-1"]
	config := text(t, "deploy/compose/config/evergate.yaml")
	port := ports(t, 2)
	var c container
	for _, v := range s.Volumes {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "evergate.yaml"), strings.NewReplacer("0.0.0.0:8080", "127.0.0.1:"+port[0], "0.0.0.0:9090", "127.0.0.1:"+port[1]).Replace(config), 0o644)
		c.folders = map[string]string{v.Target: dir}
	}
	c.args, c.state = plan(t, "amd64").image.Config.Cmd, t.TempDir()
	c.env = append(keys(config), "EVERGATE_STATE_URL=sqlite:evergate.db", "EVERGATE_URL="+strings.Replace(*s.Environment["EVERGATE_URL"], "9090", port[1], 1))
	r := c.start(t)
	r.answers(t, "http://127.0.0.1:"+port[1]+"/readyz", 200)
	r.answers(t, "http://127.0.0.1:"+port[0]+"/v1/models", 401)
	check := plan(t, "amd64").image.Config.Healthcheck.Test[1:]
	if said, err := r.inside(t, check...); err != nil {
		t.Errorf("%v: %v\n%s", check, err, said)
	}
	if _, err := os.Stat(filepath.Join(c.state, "evergate.db")); err != nil {
		t.Errorf("the state is not in the volume: %v", err)
	}
	r.env = append(r.env, "EVERGATE_URL=http://127.0.0.1:1")
	if said, err := r.inside(t, check...); err == nil {
		t.Errorf("the check finds healthy what does not answer: %s", said)
	}
	if code := r.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
