package deploy

import (
	"bufio"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	metadata "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const chart = "deploy/helm/evergate"

// manifests are what the chart comes to, decoded as the API server does: a field that it does not know is a mistake.
type manifests struct {
	text    string // all of it
	names   []string
	deploy  apps.Deployment
	config  string
	service map[string]core.Service
	budget  *policy.PodDisruptionBudget
	scaler  *autoscaling.HorizontalPodAutoscaler
	network *networking.NetworkPolicy
	monitor *monitoring.ServiceMonitor
	rules   *monitoring.PrometheusRule
	board   string // the dashboard
}

// render is `helm template evergate deploy/helm/evergate --namespace llm`. given are YAML texts, the later ones over the former.
func render(t *testing.T, given ...string) (*manifests, error) {
	t.Helper()
	c, err := loader.Load(filepath.Join(root(t), chart))
	if err != nil {
		t.Fatal(err)
	}
	vals, err := util.ToRenderValues(c, values(t, given...), common.ReleaseOptions{Name: "evergate", Namespace: "llm", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, vals)
	if err != nil {
		return nil, err
	}
	m := &manifests{service: map[string]core.Service{}}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasSuffix(name, ".yaml") {
			m.read(t, name, files[name])
		}
	}
	return m, nil
}

func values(t *testing.T, given ...string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, text := range given {
		v, err := common.ReadValues([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		out = loader.MergeMaps(out, v)
	}
	return out
}

// rendered is render for values that are right.
func rendered(t *testing.T, given ...string) *manifests {
	t.Helper()
	m, err := render(t, given...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// read takes the documents of one file.
func (m *manifests) read(t *testing.T, name, text string) {
	t.Helper()
	documents := yamlstream.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		doc, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.TrimSpace(string(doc)) == "" {
			continue
		}
		m.text += "---\n" + strings.TrimSpace(string(doc)) + "\n"
		m.decode(t, name, doc)
	}
}

func (m *manifests) decode(t *testing.T, name string, doc []byte) {
	t.Helper()
	var about metadata.TypeMeta
	if err := yaml.Unmarshal(doc, &about); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var meta *metadata.ObjectMeta
	strict := func(into any, its *metadata.ObjectMeta) {
		t.Helper()
		meta = its
		if err := yaml.UnmarshalStrict(doc, into); err != nil {
			t.Errorf("%s: %v\n%s", name, err, doc)
		}
	}
	switch about.APIVersion + " " + about.Kind {
	case "apps/v1 Deployment":
		strict(&m.deploy, &m.deploy.ObjectMeta)
	case "v1 ConfigMap":
		var c core.ConfigMap
		strict(&c, &c.ObjectMeta)
		if board := c.Data["evergate.json"]; board != "" {
			m.board = board
		} else {
			m.config = c.Data["evergate.yaml"]
		}
	case "v1 Secret":
		var s core.Secret
		strict(&s, &s.ObjectMeta)
		m.config = s.StringData["evergate.yaml"]
	case "v1 Service":
		var s core.Service
		strict(&s, &s.ObjectMeta)
		m.service[s.Name] = s
	case "v1 ServiceAccount":
		var a core.ServiceAccount
		strict(&a, &a.ObjectMeta)
	case "policy/v1 PodDisruptionBudget":
		m.budget = &policy.PodDisruptionBudget{}
		strict(m.budget, &m.budget.ObjectMeta)
	case "autoscaling/v2 HorizontalPodAutoscaler":
		m.scaler = &autoscaling.HorizontalPodAutoscaler{}
		strict(m.scaler, &m.scaler.ObjectMeta)
	case "networking.k8s.io/v1 NetworkPolicy":
		m.network = &networking.NetworkPolicy{}
		strict(m.network, &m.network.ObjectMeta)
	case "monitoring.coreos.com/v1 ServiceMonitor":
		m.monitor = &monitoring.ServiceMonitor{}
		strict(m.monitor, &m.monitor.ObjectMeta)
	case "monitoring.coreos.com/v1 PrometheusRule":
		m.rules = &monitoring.PrometheusRule{}
		strict(m.rules, &m.rules.ObjectMeta)
	default:
		t.Fatalf("%s: the tests do not know what %s %s is", name, about.APIVersion, about.Kind)
	}
	if meta.Labels["app.kubernetes.io/name"] == "" || meta.Labels["app.kubernetes.io/instance"] != "evergate" {
		t.Errorf("%s: %s %s has labels %v", name, about.Kind, meta.Name, meta.Labels)
	}
	m.names = append(m.names, about.Kind+" "+meta.Name)
}
