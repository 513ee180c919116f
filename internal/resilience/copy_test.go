package resilience

import (
	"reflect"
	"testing"
	"time"

	"evergate/internal/fault"
)

// R72: nothing that a machine may change is shared with its copy, whatever fields it comes to have.
func TestCopySharesNothing(t *testing.T) {
	for _, scope := range []Scope{PerProvider, Auto} {
		m := worn(scope)
		if len(m.lockouts) == 0 || len(m.breaker.slots) == 0 || scope == Auto && len(m.models["m1"].slots) == 0 {
			t.Fatalf("%v: too little is in it to be shared: %+v", scope, m)
		}
		shared(t, "Machine", reflect.ValueOf(m), reflect.ValueOf(m.Copy()))
	}
	b := NewBudget(time.Time{})
	b.Draw(time.Time{}, 0.2, 10)
	shared(t, "Budget", reflect.ValueOf(b), reflect.ValueOf(b.Copy()))
}

// R72: a copy does what the machine would do, and the machine does not notice.
func TestCopyGoesOnAlone(t *testing.T) {
	m := worn(Auto)
	now := time.Time{}.Add(time.Hour)
	before, _ := m.View(now, nil)
	use := func(m *Machine) (out []any) {
		for i := range 20 {
			at := now.Add(time.Duration(i) * time.Second)
			c, b, ok, eff := m.Pick(at, "m1", nil, 0.5, nil)
			p, refused, more := m.Admit(at, c, "m1", at.Add(time.Second), !ok, eff)
			if !refused.Blocked() {
				more = m.Settle(at, p, Outcome{Class: fault.Upstream}, 0.5, more)
			}
			out = append(out, c, b, ok, refused, more)
		}
		return out
	}
	first := use(m.Copy())
	if after, _ := m.View(now, nil); !reflect.DeepEqual(before, after) {
		t.Errorf("the machine moved:\n%+v\n%+v", before, after)
	}
	if second := use(m); !reflect.DeepEqual(first, second) {
		t.Errorf("the copy did otherwise:\n%v\n%v", first, second)
	}
}

// worn is a machine with something in everything that it keeps.
func worn(scope Scope) *Machine {
	s := Defaults()
	s.Breaker.Scope, s.Breaker.Timeout = scope, time.Minute
	m := New(s, RoundRobin, []Credential{{Name: "a"}, {Name: "b", Models: []string{"m1"}}})
	now := time.Time{}.Add(time.Hour)
	for _, o := range []Outcome{
		{Success: true},
		{Class: fault.RateLimited},
		{Class: fault.ModelMissing},
		{Class: fault.Upstream},
		{Class: fault.Upstream},
		{Class: fault.Upstream},
		{Class: fault.Upstream},
		{Class: fault.Upstream},
	} {
		for _, model := range []string{"m1", "m2"} {
			if p, b, _ := m.Admit(now.Add(-2*time.Minute), 0, model, now, true, nil); !b.Blocked() {
				m.Settle(now.Add(-2*time.Minute), p, o, 0.5, nil)
			}
		}
	}
	m.Admit(now.Add(-time.Second), 1, "m1", now.Add(time.Minute), false, nil) // a probe under way
	return m
}

// shared walks over two values of a type and complains of what they have in common and could change.
func shared(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() { //nolint:exhaustive // the rest holds nothing
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.Type() == reflect.TypeFor[*time.Location]() {
			return
		}
		if a.IsNil() || a.Kind() != reflect.Pointer && a.Len() == 0 {
			return
		}
		if a.Pointer() == b.Pointer() {
			if a.Type() != reflect.TypeFor[[]string]() { // Credential.Models, which is read only
				t.Errorf("%s is shared", path)
			}
			return
		}
	}
	switch a.Kind() { //nolint:exhaustive // as above
	case reflect.Pointer:
		shared(t, path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			shared(t, path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range a.Len() {
			shared(t, path+"[]", a.Index(i), b.Index(i))
		}
	case reflect.Map:
		for _, k := range a.MapKeys() {
			shared(t, path+"[]", a.MapIndex(k), b.MapIndex(k))
		}
	}
}
