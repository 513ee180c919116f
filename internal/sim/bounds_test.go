package sim

import (
	"reflect"
	"testing"
	"time"
)

// A simulation that is to stop stops soon, without a report; one that is not is that of Finish.
func TestFinishUnless(t *testing.T) {
	t.Parallel()
	s := &Scenario{Duration: time.Hour, Gateway: gateway(2, nil), Traffic: []Traffic{people("m1", 20, time.Second)}}
	asked := 0
	report, ok := New(s, seeded(1)).FinishUnless(func() bool { asked++; return asked == 3 })
	if ok || report != nil || asked != 3 {
		t.Errorf("%v %v, asked %d times", ok, report, asked)
	}
	report, ok = New(s, seeded(1)).FinishUnless(func() bool { return false })
	if want := New(s, seeded(1)).Finish(); !ok || !reflect.DeepEqual(report, want) {
		t.Errorf("%v: it differs from Finish", ok)
	}
}

// What a scenario takes is bounded before it is played: the highest rate that it may come to, for all of its time.
func TestWork(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		traffic Traffic
		want    float64
	}{
		{"nobody", Traffic{}, 0},
		{"a rate", Traffic{Rate: Rate{Low: 5}}, 300},
		{"a ramp", Traffic{Rate: Rate{Shape: Ramp, Low: 1, High: 10}}, 600},
		{"a spike", Traffic{Rate: Rate{Low: 5, Spikes: []Spike{{Times: 1000}, {Times: 0.5}}}}, 300_000},
		{"clients", Traffic{Clients: 7}, 420},
	}
	for _, tt := range tests {
		s := Scenario{Duration: time.Minute, Traffic: []Traffic{tt.traffic}}
		if got := s.Work(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
