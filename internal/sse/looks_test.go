package sse

import "testing"

func TestLooks(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"data: {}": true, "data:{}": true, ": ping": true, "event: x": true, "\ufeff\r\n id: 1": true, "retry: 1": true, "error: {}": true,
		"": false, "{}": false, `{"data":1}`: false, "<html>": false, "database": false,
	} {
		if got := Looks([]byte(in)); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}
