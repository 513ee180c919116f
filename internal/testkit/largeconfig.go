package testkit

import (
	"fmt"
	"strings"
)

// LargeConfig is a configuration of 50 providers with 40 models each, and 200 virtual models, some of them with others in them.
func LargeConfig() []byte {
	var b strings.Builder
	b.WriteString("providers:\n")
	for p := range 50 {
		fmt.Fprintf(&b, "  provider-%d:\n    type: openai\n    base_url: https://p%d.example.com\n    keys: [ key-a, key-b ]\n    models:\n", p, p)
		for m := range 40 {
			fmt.Fprintf(&b, "      - vendor/model-%d\n", p*40+m)
		}
	}
	b.WriteString("models:\n")
	for v := range 200 {
		fmt.Fprintf(&b, "  virtual-%d:\n    strategy: %s\n    targets:\n", v, []string{"ordered", "weighted", "auto", "least_cost", "least_latency"}[v%5])
		for i := range 8 {
			p := (v*7 + i*3) % 50
			if i > 1 {
				fmt.Fprintf(&b, "      - provider-%d/vendor/model-%d\n", p, p*40+v%40)
			} else {
				fmt.Fprintf(&b, "      - { target: provider-%d/vendor/model-%d, weight: %d, params: { temperature: 0.5 } }\n", p, p*40+v%40, 1+i)
			}
		}
		if v%4 != 0 {
			fmt.Fprintf(&b, "      - virtual-%d\n", v-1)
		}
	}
	return []byte(b.String())
}
