package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"evergate/internal/route"
)

// R47: what a model's affinity says, and what holds where nothing is said.
func TestAffinity(t *testing.T) {
	t.Parallel()
	all := []route.Trait{route.ByHeader, route.ByCacheKey, route.ByUser, route.ByOpening}
	for _, c := range []struct {
		say   string
		by    []route.Trait
		ttl   time.Duration
		wrong string
	}{
		{"", all, time.Hour, ""},
		{"affinity: {}", all, time.Hour, ""},
		{"affinity: off", nil, 0, ""},
		{"affinity: false", nil, 0, ""},
		{"affinity: {ttl: 5m}", all, 5 * time.Minute, ""},
		{"affinity: {by: [user, header]}", []route.Trait{route.ByUser, route.ByHeader}, time.Hour, ""},
		{"affinity: {by: [cache_key, opening], ttl: 1s}", []route.Trait{route.ByCacheKey, route.ByOpening}, time.Second, ""},
		{"affinity: on", nil, 0, "must be off, or an object"},
		{"affinity: {by: []}", nil, 0, "is empty"},
		{"affinity: {by: [user, user]}", nil, 0, "is listed twice"},
		{"affinity: {by: [session]}", nil, 0, "must be one of header, cache_key, user, opening"},
		{"affinity: {by: header}", nil, 0, "must be a list"},
		{"affinity: {ttl: 0}", nil, 0, "ttl"},
	} {
		t.Run(c.say, func(t *testing.T) {
			t.Parallel()
			text := "providers: {p: {type: openai, api_key: k}}\nmodels: {m: {strategy: weighted, targets: [p/x, p/y], " + c.say + "}}\n"
			cfg, err := Parse("f.yaml", []byte(text), func(string) (string, bool) { return "", false })
			switch {
			case c.wrong != "":
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("%v, want %q", err, c.wrong)
				}
			case err != nil:
				t.Error(err)
			default:
				if a := cfg.Table.Virtual["m"].Affinity; !slices.Equal(a.By, c.by) || a.TTL != c.ttl {
					t.Errorf("%+v", a)
				}
			}
		})
	}
}
