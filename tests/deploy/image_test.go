package deploy

import (
	"context"
	"debug/elf"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/buildkit/solver/pb"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

const dockerfile = "deploy/Dockerfile"

// baseImages stands in for the registry: BuildKit asks it for the config of the images that a build begins with.
type baseImages struct{ asked []string }

func (b *baseImages) ResolveImageConfig(_ context.Context, ref string, o sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	b.asked = append(b.asked, ref)
	image := ocispecs.Image{Config: ocispecs.ImageConfig{Env: []string{"PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"}}}
	if o.ImageOpt != nil && o.ImageOpt.Platform != nil {
		image.Platform = *o.ImageOpt.Platform
	}
	config, err := json.Marshal(image)
	return ref, digest.FromBytes(config), config, err
}

// build is what BuildKit makes of the Dockerfile for one platform: what it would run, and the config of the image.
type build struct {
	base  []string
	execs []*pb.Meta
	image *dockerspec.DockerOCIImage
}

// plan has BuildKit plan the build, as `docker build --platform linux/ARCH` would on a machine of this one's kind.
func plan(t *testing.T, arch string) build {
	t.Helper()
	base := &baseImages{}
	target := ocispecs.Platform{OS: "linux", Architecture: arch}
	here := ocispecs.Platform{OS: "linux", Architecture: runtime.GOARCH}
	caps := pb.Caps.CapSet(pb.Caps.All())
	r, err := dockerfile2llb.Dockerfile2LLB(t.Context(), []byte(text(t, dockerfile)), dockerfile2llb.ConvertOpt{
		Config:         dockerui.Config{BuildArgs: map[string]string{"VERSION": "v1.2.3", "COMMIT": "0123456789ab"}, BuildPlatforms: []ocispecs.Platform{here}},
		TargetPlatform: &target, MetaResolver: base, LLBCaps: &caps,
		Warn: func(rule, _, url, message string, at []parser.Range) {
			t.Errorf("%s:%v: %s: %s (%s)", dockerfile, at, rule, message, url)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	def, err := r.State.Marshal(t.Context(), llb.Platform(target))
	if err != nil {
		t.Fatal(err)
	}
	out := build{base: base.asked, image: r.Image}
	for _, data := range def.Def {
		var op pb.Op
		if err := op.UnmarshalVT(data); err != nil {
			t.Fatal(err)
		}
		if e := op.GetExec(); e != nil {
			out.execs = append(out.execs, e.Meta)
		}
	}
	return out
}

// context is a folder with what the builder is sent: the repository without what the ignore file leaves out.
func buildContext(t *testing.T) string {
	t.Helper()
	from, to := root(t), t.TempDir()
	patterns, err := ignorefile.ReadAll(strings.NewReader(text(t, dockerfile+".dockerignore")))
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range []string{"go.mod", "go.sum", "api", "cmd", "internal"} { // what the Dockerfile copies; see TestImageIsBuiltOfWhatIsSent
		err := filepath.WalkDir(filepath.Join(from, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			if no, err := ignored.MatchesOrParentMatches(filepath.ToSlash(name)); err != nil || no {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o750); err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, name), data, 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// carryOut runs the build's commands here, on what the builder would be sent, and returns the folder that stands for /out.
func carryOut(t *testing.T, b build) string {
	t.Helper()
	src, out := buildContext(t), t.TempDir()
	for _, e := range b.execs {
		line := e.Args[len(e.Args)-1]
		if !strings.Contains(line, "/out") {
			continue // the download of modules
		}
		if e.Cwd != "/src" {
			t.Fatalf("it is built in %s", e.Cwd)
		}
		args := slices.Clone(e.Args)
		args[len(args)-1] = strings.ReplaceAll(line, "/out", out)
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = src
		cmd.Env = os.Environ()
		for _, v := range e.Env {
			if !strings.HasPrefix(v, "PATH=") {
				cmd.Env = append(cmd.Env, v)
			}
		}
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
	}
	return out
}

var (
	builtOnce sync.Once
	builtPath string
)

// program is the binary of the image for this machine, built once as the Dockerfile says.
func program(t *testing.T) string {
	t.Helper()
	builtOnce.Do(func() {
		built := filepath.Join(carryOut(t, plan(t, runtime.GOARCH)), "evergate")
		dir, err := os.MkdirTemp("", "evergate-deploy-") //nolint:usetesting // the tests share it; TestMain removes it
		if err != nil {
			t.Fatal(err)
		}
		builtPath = filepath.Join(dir, "evergate")
		if err := os.Rename(built, builtPath); err != nil {
			t.Fatal(err)
		}
	})
	if builtPath == "" {
		t.Fatal("the program could not be built")
	}
	return builtPath
}

func TestMain(m *testing.M) {
	code := m.Run()
	if builtPath != "" {
		_ = os.RemoveAll(filepath.Dir(builtPath))
	}
	os.Exit(code)
}

// Both architectures come of the Dockerfile, on a builder of one: its own commands are run here, and what they make is static.
func TestImageHasAStaticBinaryOfEachArchitecture(t *testing.T) {
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		t.Run(arch, func(t *testing.T) {
			path := program(t)
			if arch != runtime.GOARCH {
				path = filepath.Join(carryOut(t, plan(t, arch)), "evergate")
			}
			f, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if f.Machine != machine {
				t.Errorf("it is for %v", f.Machine)
			}
			for _, p := range f.Progs {
				if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
					t.Errorf("it is linked dynamically: it has %v", p.Type)
				}
			}
			if info, err := os.Stat(path); err == nil {
				t.Logf("%s: %.1f MB", arch, float64(info.Size())/1e6)
				if size := info.Size(); size > 40e6 {
					t.Errorf("it has %d bytes, docs/deploying.md says less than 40 MB for an image", size)
				}
			}
		})
	}
	if said := command(t, program(t), "version"); !strings.Contains(said, "v1.2.3") || !strings.Contains(said, "0123456789ab") {
		t.Errorf("VERSION and COMMIT did not get into it: %s", said)
	}
}

func TestImageRunsAsNobodyWithStateInAVolume(t *testing.T) {
	b := plan(t, "arm64")
	c := b.image.Config
	if b.image.Architecture != "arm64" || b.image.OS != "linux" {
		t.Errorf("the image is for %s/%s", b.image.OS, b.image.Architecture)
	}
	if c.User != "65532:65532" {
		t.Errorf("its user is %q: Kubernetes can only tell from a number that it is not root", c.User)
	}
	if _, ok := c.Volumes[c.WorkingDir]; !ok || c.WorkingDir != "/var/lib/evergate" {
		t.Errorf("it works in %s, which is no volume of %v", c.WorkingDir, c.Volumes)
	}
	if c.StopSignal != "SIGTERM" || !slices.Equal(c.Entrypoint, []string{"/usr/local/bin/evergate"}) || !slices.Equal(c.Cmd, []string{"serve"}) {
		t.Errorf("it runs %v %v until %s", c.Entrypoint, c.Cmd, c.StopSignal)
	}
	h := c.Healthcheck
	if h == nil || !slices.Equal(h.Test, []string{"CMD", "/usr/local/bin/evergate", "status"}) || h.Timeout >= h.Interval || h.Interval > 30*time.Second {
		t.Errorf("its health check is %+v", h)
	}
}

// What a stage copies must be what the tests take it to copy, and its Go the one that go.mod asks for.
func TestImageIsBuiltOfWhatIsSent(t *testing.T) {
	parsed, err := parser.Parse(strings.NewReader(text(t, dockerfile)))
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil || len(stages) != 2 {
		t.Fatalf("%d stages, %v", len(stages), err)
	}
	for i, want := range []string{
		"go.mod go.sum -> ./\napi -> api\ncmd -> cmd\ninternal -> internal",
		"build /etc/ssl/certs/ca-certificates.crt -> /etc/ssl/certs/ca-certificates.crt\nbuild /out/evergate -> /usr/local/bin/evergate\nbuild /out/state -> /var/lib/evergate 65532:65532",
	} {
		var got []string
		for _, cmd := range stages[i].Commands {
			if c, ok := cmd.(*instructions.CopyCommand); ok {
				got = append(got, strings.TrimSpace(c.From+" "+strings.Join(c.SourcePaths, " ")+" -> "+c.DestPath+" "+c.Chown))
			}
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("stage %d copies\n%s\nand not\n%s", i, strings.Join(got, "\n"), want)
		}
	}
	if stages[1].BaseName != "scratch" {
		t.Errorf("the image begins with %s", stages[1].BaseName)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(text(t, "go.mod"))[1]
	if want := "golang:" + version + "-bookworm"; stages[0].BaseName != want {
		t.Errorf("it is built by %s, go.mod asks for %s", stages[0].BaseName, want)
	}
}

func TestDockerfileIsCleanByHadolint(t *testing.T) {
	command(t, tool(t, "hadolint"), "--failure-threshold", "style", "--disable-ignore-pragma", "--no-color", filepath.Join(root(t), dockerfile))
}
