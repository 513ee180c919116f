package deploy

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	core "k8s.io/api/core/v1"
	metadata "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podsecurity "k8s.io/pod-security-admission/api"
	standards "k8s.io/pod-security-admission/policy"
)

var update = flag.Bool("update", false, "write the golden files")

// sets are values that the chart is rendered with.
func sets(t *testing.T) map[string][]string {
	t.Helper()
	return map[string][]string{"defaults": nil, "everything": {text(t, "tests/deploy/testdata/everything.yaml")}}
}

// As `helm lint --strict` says it, for the oldest Kubernetes that the chart takes and for Helm's own.
func TestChartIsCleanByHelm(t *testing.T) {
	oldest, err := common.ParseKubeVersion("v1.27.0")
	if err != nil {
		t.Fatal(err)
	}
	for name, given := range sets(t) {
		for _, options := range [][]lint.LinterOption{nil, {lint.WithKubeVersion(oldest)}} {
			result := lint.RunAll(filepath.Join(root(t), chart), values(t, given...), "llm", options...)
			for _, m := range result.Messages {
				if m.Severity > support.InfoSev { // information: there is no icon
					t.Errorf("%s: %v", name, m)
				}
			}
		}
	}
}

// What it comes to stands in a file, for a person to read; -update writes it.
func TestChartComesTo(t *testing.T) {
	for name, given := range sets(t) {
		t.Run(name, func(t *testing.T) {
			got := rendered(t, given...).text
			file := filepath.Join("testdata", name+".golden")
			if *update {
				put(t, file, got, 0o600)
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChartsConfigIsValid(t *testing.T) {
	for name, given := range sets(t) {
		t.Run(name, func(t *testing.T) { checkConfig(t, rendered(t, given...).config) })
	}
	// The user's text is passed on as it is.
	m := rendered(t, text(t, "tests/deploy/testdata/everything.yaml"))
	if !strings.Contains(m.config, "{ context_window: 1000000 }") || !strings.Contains(m.config, "# a comment") {
		t.Errorf("the config has become\n%s", m.config)
	}
}

func TestChartConfinesItsPods(t *testing.T) {
	judge, err := standards.NewEvaluator(standards.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, given := range sets(t) {
		t.Run(name, func(t *testing.T) {
			pod := rendered(t, given...).deploy.Spec.Template.Spec
			p, c := pod.SecurityContext, pod.Containers[0].SecurityContext
			switch {
			case !*p.RunAsNonRoot || *p.RunAsUser != 65532 || p.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault:
				t.Errorf("pod: %+v", p)
			case *c.AllowPrivilegeEscalation || *c.Privileged || !*c.ReadOnlyRootFilesystem || !slices.Equal(c.Capabilities.Drop, []core.Capability{"ALL"}) || c.Capabilities.Add != nil:
				t.Errorf("container: %+v", c)
			case *pod.AutomountServiceAccountToken || pod.HostNetwork || pod.HostPID || pod.HostIPC:
				t.Error("the pod has something of the cluster or the node")
			}
			// As the admission controller of a namespace with pod-security.kubernetes.io/enforce: restricted.
			standard := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
			for _, r := range judge.EvaluatePod(standard, &metadata.ObjectMeta{}, &pod) {
				if !r.Allowed {
					t.Errorf("%s: %s", r.ForbiddenReason, r.ForbiddenDetail)
				}
			}
		})
	}
}

// Readiness fails first, then requests end; Kubernetes must not kill before that.
func TestChartWaitsForTheDrain(t *testing.T) {
	for name, want := range map[string]struct {
		given, config string
		grace         int64
	}{
		"defaults": {"", "shutdown_delay: 10s\n  shutdown_grace: 120s\n", 140},
		"others":   {"shutdown: { delaySeconds: 5, graceSeconds: 600, marginSeconds: 15 }", "shutdown_delay: 5s\n  shutdown_grace: 600s\n", 620},
	} {
		t.Run(name, func(t *testing.T) {
			m := rendered(t, want.given)
			if got := *m.deploy.Spec.Template.Spec.TerminationGracePeriodSeconds; got != want.grace || !strings.Contains(m.config, want.config) {
				t.Errorf("terminationGracePeriodSeconds %d, want %d, with\n%s", got, want.grace, m.config)
			}
			ready := m.deploy.Spec.Template.Spec.Containers[0].ReadinessProbe
			if notice := int(ready.PeriodSeconds * ready.FailureThreshold); name == "defaults" && notice >= 10 {
				t.Errorf("readiness is noticed after %d s, the delay is 10 s", notice)
			}
		})
	}
}

// Everything that chooses Pods chooses those of the Deployment, and names ports that they have.
func TestChartsPartsFitTogether(t *testing.T) {
	for name, given := range sets(t) {
		t.Run(name, func(t *testing.T) {
			m, later := rendered(t, given...), rendered(t, append(slices.Clone(given), "image: { tag: v9 }")...)
			pod := labels.Set(m.deploy.Spec.Template.Labels)
			chosen := func(what string, s *metadata.LabelSelector) {
				t.Helper()
				selector, err := metadata.LabelSelectorAsSelector(s)
				if err != nil || !selector.Matches(pod) || selector.Empty() {
					t.Errorf("%s does not choose the Pods: %v, %v", what, selector, err)
				}
				if diff := cmp.Diff(later.deploy.Spec.Selector, s); diff != "" {
					t.Errorf("%s does not choose those of the next version too: %s", what, diff)
				}
			}
			ports := map[string]bool{}
			for _, p := range m.deploy.Spec.Template.Spec.Containers[0].Ports {
				ports[p.Name] = true
			}
			chosen("the Deployment", m.deploy.Spec.Selector)
			chosen("the budget", m.budget.Spec.Selector)
			for _, c := range m.deploy.Spec.Template.Spec.TopologySpreadConstraints {
				chosen(c.TopologyKey, c.LabelSelector)
			}
			for name, s := range m.service {
				chosen("the Service "+name, &metadata.LabelSelector{MatchLabels: s.Spec.Selector})
				for _, p := range s.Spec.Ports {
					if !ports[p.TargetPort.String()] {
						t.Errorf("the Service %s leads to %s", name, p.TargetPort.String())
					}
				}
			}
			if (m.scaler != nil) != (m.deploy.Spec.Replicas == nil) {
				t.Error("the scaler and the Deployment both say how many")
			}
			if name == "defaults" {
				return
			}
			if m.scaler.Spec.ScaleTargetRef.Name != m.deploy.Name {
				t.Errorf("the scaler scales %s", m.scaler.Spec.ScaleTargetRef.Name)
			}
			chosen("the network policy", &m.network.Spec.PodSelector)
			admin := m.service[m.deploy.Name+"-admin"]
			selector, err := metadata.LabelSelectorAsSelector(&m.monitor.Spec.Selector)
			if err != nil || !selector.Matches(labels.Set(admin.Labels)) || selector.Matches(labels.Set(m.service[m.deploy.Name].Labels)) || m.monitor.Spec.Endpoints[0].Port != admin.Spec.Ports[0].Name {
				t.Errorf("the monitor does not look at the admin Service: %v, %v", selector, err)
			}
		})
	}
}

func TestChartRefuses(t *testing.T) {
	for name, c := range map[string]struct{ values, want string }{
		"an unknown value":           {"replicas: 3", "additional properties 'replicas'"},
		"a wrong type":               {"replicaCount: many", "replicaCount"},
		"an unknown part of a value": {"image: { tagg: v1 }", "additional properties 'tagg'"},
		"a privileged port":          {"server: { port: 80 }", "minimum"},
		"one port for both":          {"server: { port: 9090 }", "are the same"},
		"no Secret":                  {`existingSecret: ""`, "existingSecret"},
		"an unknown store":           {`state: { url: "mysql://db" }`, "url"},
		"two places for the state":   {"state: { url: \"redis://r\" }\nconfig: \"state: { url: 'redis://r' }\"", "say it in one place"},
		"the chart's section":        {"config: \"server: { listen: 127.0.0.1:1 }\"", "server.extra"},
		"the chart's key":            {"server: { extra: { shutdown_grace: 1s } }", "shutdown instead"},
		"no YAML":                    {"config: \"a: b: c\"", "config is not YAML"},
		"more than the most":         {"autoscaling: { enabled: true, minReplicas: 11 }", "is more than"},
		"no margin":                  {"shutdown: { marginSeconds: 0 }", "marginSeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := render(t, c.values); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// A Pod as a node would run it: the container's arguments, variables, volumes and working folder, probed at its own paths.
func TestChartsPodRuns(t *testing.T) {
	free := ports(t, 2)
	m := rendered(t, fmt.Sprintf("server: { port: %s }\nadmin: { port: %s }\nshutdown: { delaySeconds: 0 }", free[0], free[1]))
	pod := m.deploy.Spec.Template.Spec
	spec := pod.Containers[0]
	c := container{args: spec.Args, env: keys(m.config), state: t.TempDir(), folders: map[string]string{}}
	for _, v := range spec.Env {
		c.env = append(c.env, v.Name+"="+v.Value)
	}
	for _, mount := range spec.VolumeMounts {
		if mount.Name == "config" {
			c.folders[mount.MountPath] = t.TempDir()
			put(t, filepath.Join(c.folders[mount.MountPath], "evergate.yaml"), m.config, 0o644)
		} else if mount.MountPath != "/var/lib/evergate" || spec.WorkingDir != mount.MountPath {
			t.Fatalf("%s is mounted at %s, it works in %s", mount.Name, mount.MountPath, spec.WorkingDir)
		}
	}
	r := c.start(t)
	number := map[string]int32{}
	for _, p := range spec.Ports {
		number[p.Name] = p.ContainerPort
	}
	for name, probe := range map[string]*core.Probe{"startup": spec.StartupProbe, "liveness": spec.LivenessProbe, "readiness": spec.ReadinessProbe} {
		t.Log(name, r.answers(t, fmt.Sprintf("http://127.0.0.1:%d%s", number[probe.HTTPGet.Port.String()], probe.HTTPGet.Path), http.StatusOK))
	}
	r.answers(t, fmt.Sprintf("http://127.0.0.1:%d/v1/models", number["http"]), http.StatusUnauthorized)
	if said, err := r.inside(t, "/usr/local/bin/evergate", "status"); err != nil {
		t.Errorf("evergate status in the Pod: %v\n%s", err, said)
	}
	if code := r.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The chart ships copies of the rules and the dashboard, since Helm takes nothing from outside of a chart; words for Prometheus' own templates
// are in them as they are.
func TestChartShipsRulesAndDashboard(t *testing.T) {
	m := rendered(t, "prometheusRule: { enabled: true, labels: { release: prometheus } }\ndashboard: { enabled: true }")
	if m.rules == nil || m.rules.Labels["release"] != "prometheus" {
		t.Fatalf("the rules are %v", m.rules)
	}
	var got, want []string
	for _, g := range m.rules.Spec.Groups {
		for _, r := range g.Rules {
			got = append(got, fmt.Sprint(g.Name, r.Record, r.Alert, r.Expr.String(), r.Annotations))
		}
	}
	for _, file := range []string{rulesFile, alertsFile} {
		for _, g := range ruleGroups(t, file) {
			for _, r := range g.Rules {
				want = append(want, fmt.Sprint(g.Name, r.Record, r.Alert, r.Expr, r.Annotations))
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("copy deploy/prometheus/*.yml into the chart's files (-want +got):\n%s", diff)
	}
	if m.board != strings.TrimSpace(text(t, dashboardFile)) {
		t.Errorf("copy %s to the chart's files/dashboard.json", dashboardFile)
	}
}
