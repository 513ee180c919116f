package sim

import (
	"testing"

	"evergate/internal/route"
)

// R50, R51: in a simulation, too, nobody is asked whom the policies refuse, though everybody else is down; a model that they leave
// nobody is answered by nobody.
func TestPoliciesPlay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		policy route.Policy
		byok   route.BYOK
		asked  [3]bool
	}{
		{"none", route.Policy{}, route.AllowKeys, [3]bool{true, true, true}},
		{"one is denied", route.Policy{Deny: []string{"p2"}}, route.AllowKeys, [3]bool{true, false, true}},
		{"all are", route.Policy{Allow: []string{"p4"}}, route.AllowKeys, [3]bool{}},
		{"keys are brought where they are needed", route.Policy{}, route.RequireKeys, [3]bool{true, true, true}},
		{"and nowhere else", route.Policy{}, route.RefuseKeys, [3]bool{true, true, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := gateway(3, func(_ int, _ *Guarded, p *route.Provider) { p.BYOK = tt.byok })
			g.Table.Policies, g.Table.Virtual["m1"].Policy = map[string]*route.Policy{"p": &tt.policy}, "p"
			g.Table.BYOK = tt.byok != route.AllowKeys
			s := &Scenario{Duration: 2 * minute, Gateway: g, Traffic: []Traffic{{Model: "m1", Rate: Rate{Low: 5}, Tokens: Fixed(10)}}}
			for i := range g.Providers {
				s.Providers = append(s.Providers, DefaultProvider(g.Providers[i].Name))
			}
			s.Weather = []Weather{{Kind: Outage, With: Status, Status: 503, To: 2 * minute}}
			for i, p := range New(s, seeded(51)).Finish().Provider {
				if asked := p.Attempts > 0; asked != tt.asked[i] {
					t.Errorf("%s was asked %d times", p.Name, p.Attempts)
				}
			}
		})
	}
}
