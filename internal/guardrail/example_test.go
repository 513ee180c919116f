package guardrail_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"evergate/internal/guardrail"
)

// swearing is a guard of one's own: it blocks requests with a word in it and changes another one in answers.
type swearing struct{}

func (swearing) Check(_ context.Context, p *guardrail.Passage) (guardrail.Verdict, error) {
	verdict := guardrail.Verdict{}
	for i := range p.Texts {
		t := &p.Texts[i]
		switch {
		case t.Kind != guardrail.Words:
		case p.Phase == guardrail.Request && bytes.Contains(t.Value, []byte("damn")):
			return guardrail.Verdict{Action: guardrail.Block, Reason: "mind your language"}, nil
		case bytes.Contains(t.Value, []byte("heck")):
			t.Value = bytes.ReplaceAll(t.Value, []byte("heck"), []byte("h**k"))
			verdict.Action = guardrail.Replace
		}
	}
	return verdict, nil
}

func Example() {
	set := &guardrail.Set{
		ByName:   map[string]*guardrail.Named{"polite": {Name: "polite", Guard: swearing{}, OnRequest: true, OnResponse: true, Every: 100}},
		Defaults: []string{"polite"},
	}
	for _, body := range []string{`{"model":"m","input":"what the heck"}`, `{"model":"m","input":"damn"}`} {
		watch, _ := set.Watch(guardrail.About{RequestID: "req_1", Model: "m"}, set.Names([]string{"m"}, nil))
		out, err := watch.Request(context.Background(), []byte(body))
		var blocked *guardrail.Blocked
		if errors.As(err, &blocked) {
			fmt.Println(blocked)
			continue
		}
		fmt.Println(string(out), watch.Facts())
	}
	// Output:
	// {"model":"m","input":"what the h**k"} [{polite request redacted}]
	// the guardrail polite blocked the request: mind your language
}
