package app

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// What a gateway booked in a bad hour, failovers, cut streams, answers without usage, mirrors and kept answers among it, is the same in its sums and in both
// exports, to the token and the billionth of a dollar; by the owners and teams of keys, too. Prices of now stand beside what was booked.
func TestExportsOfABadHour(t *testing.T) {
	const keys = `
auth:
  keys:
    - {name: ann, value: key-of-ann, owner: Ann, team: red, labels: {env: prod}}
    - {name: bob, value: key-of-bob, owner: Bob, team: red, labels: {env: dev}}
catalog: {m: {input_price: 1, output_price: %[1]d}, m2: {input_price: 3, output_price: %[1]d}}
`
	config := func(price int) string {
		text := strings.Replace(fmt.Sprintf(cachedModel, "openai"), "auth: {allow_anonymous: true}\n", "", 1)
		return strings.Replace(text, "cache: 1h}", "cache: 1h, mirror: {target: b/m2, share: 1}}", 1) + oneTry + fmt.Sprintf(keys, price)
	}
	synctest.Test(t, func(t *testing.T) {
		bad := mock.Script{Defaults: steady(), Rules: []mock.Rule{
			{Nth: mock.Nth{From: 2, To: 2}, Do: mock.Behaviour{Status: 500}},
			{Nth: mock.Nth{From: 3, To: 3}, Do: mock.Behaviour{Chunks: 8, Cut: mock.After(3)}},
			{Nth: mock.Nth{From: 4, To: 4}, Do: mock.Behaviour{Body: `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"no usage is said"},"finish_reason":"stop"}]}`}},
		}}
		s := newStack(t, config(4), map[string]mock.Script{"a": bad, "b": answers()})
		for i := range 12 {
			body := coldWith(fmt.Sprintf(`,"stream":%t,"max_tokens":%d`, i%2 == 0, 1+i%6))
			s.raw(chatURL, body, "authorization", "Bearer key-of-"+[]string{"ann", "bob"}[i%2])
		}
		time.Sleep(time.Second)
		nano := func(text string) *big.Int {
			n, ok := new(big.Rat).SetString(text)
			if !ok {
				return new(big.Int)
			}
			return n.Mul(n, big.NewRat(1e9, 1)).Num()
		}
		sums := map[string]string{}
		add := func(where string, input, output, cost *big.Int) {
			sums[where] = fmt.Sprintf("%s in, %s out, %s nano-dollars", input, output, cost)
		}
		var reply struct {
			Rows []struct {
				Owner, Team string
				Labels      map[string]string
				Cost        json.Number `json:"cost_usd"`
				Now         json.Number `json:"current_cost_usd"`
				Attempts    int
			}
			Total struct {
				Input, Output json.Number
				In            json.Number `json:"input_tokens"`
				Out           json.Number `json:"output_tokens"`
				Cost          json.Number `json:"cost_usd"`
				Estimated     int         `json:"estimated_tokens"`
			}
		}
		s.next = parse(t, config(40))
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(s.adminText(http.MethodGet, "/admin/v1/usage?group_by=owner,team,label:env&prices=current", "")), &reply); err != nil {
			t.Fatal(err)
		}
		add("usage", nano(string(reply.Total.In)+"e-9"), nano(string(reply.Total.Out)+"e-9"), nano(string(reply.Total.Cost)))
		if len(reply.Rows) != 3 || reply.Rows[1].Owner != "Ann" || reply.Rows[1].Team != "red" || reply.Rows[1].Labels["env"] != "prod" || reply.Rows[2].Owner != "Bob" || reply.Total.Estimated == 0 {
			t.Errorf("%+v", reply)
		}
		for _, row := range reply.Rows { // the first is that of the copies, which nobody's key asked for
			if nano(string(row.Now)).Cmp(nano(string(row.Cost))) <= 0 {
				t.Errorf("at a higher price %s would cost %s, and did %s", row.Owner, row.Now, row.Cost)
			}
		}
		kinds := map[string]int{}
		for _, kind := range []string{"requests", "attempts"} {
			lines, err := csv.NewReader(strings.NewReader(s.adminText(http.MethodGet, "/admin/v1/usage/export?kind="+kind, ""))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			input, output, cost := new(big.Int), new(big.Int), new(big.Int)
			for _, line := range lines[1:] {
				for i, name := range lines[0] {
					switch name {
					case "input_tokens":
						input.Add(input, nano(line[i]+"e-9"))
					case "output_tokens":
						output.Add(output, nano(line[i]+"e-9"))
					case "cost_usd":
						cost.Add(cost, nano(line[i]))
					case "kind", "cache":
						kinds[kind+" "+line[i]]++
					}
				}
			}
			add(kind, input, output, cost)
		}
		if sums["requests"] != sums["usage"] || sums["attempts"] != sums["usage"] {
			t.Errorf("%v", sums)
		}
		if kinds["requests request"] != 12 || kinds["requests mirror"] == 0 || kinds["requests hit"] == 0 || kinds["attempts request"] == 0 {
			t.Errorf("%v", kinds)
		}
	})
}
