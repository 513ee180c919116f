package recent

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/journal"
)

// two are the candidates of a request.
type two struct{}

func (two) Candidates() int { return 2 }

func (two) Candidate(i int) journal.Candidate {
	return journal.Candidate{Provider: [...]string{"p0", "p1"}[i]}
}

func request(i int) *journal.Request {
	return &journal.Request{
		ID: fmt.Sprint("req_", i), Asked: "m", Status: 200, Start: time.Unix(int64(i), 0), Candidates: two{},
		Trail: []journal.Step{{Provider: "p0", Reason: "circuit_open", Skipped: true}, {Provider: "p1", Reason: "ok", Status: 200}},
	}
}

// R72: the last 1,000 requests are remembered as they were, and no more.
func TestTheLastThousand(t *testing.T) {
	var r Ring
	for i := range 2500 {
		r.RequestEnded(request(i))
	}
	for i, want := range map[int]bool{0: false, 1499: false, 1500: true, 2499: true} {
		f, ok := r.Find(fmt.Sprint("req_", i))
		if ok != want {
			t.Errorf("%d: %t", i, ok)
		}
		if ok && (f.ID != fmt.Sprint("req_", i) || f.Asked != "m" || f.Start.Unix() != int64(i) || len(f.Trail) != 2 || f.Trail[1].Provider != "p1" || len(f.List) != 2 || f.List[1].Provider != "p1") {
			t.Errorf("%+v", f)
		}
	}
}

// Of two requests of one id, which clients may choose, the later one is meant. What was given out stays as it was.
func TestTheLaterOneOfAnID(t *testing.T) {
	var r Ring
	r.RequestEnded(request(1))
	first, _ := r.Find("req_1")
	again := request(1)
	again.Status, again.Trail = 503, nil
	r.RequestEnded(again)
	if f, ok := r.Find("req_1"); !ok || f.Status != 503 || len(f.Trail) != 0 || len(f.List) != 2 {
		t.Errorf("%+v", f)
	}
	for i := range Requests {
		r.RequestEnded(request(2 + i))
	}
	if first.Status != 200 || len(first.Trail) != 2 || first.Trail[0].Reason != "circuit_open" {
		t.Errorf("%+v", first)
	}
}

// However long trails, names and words are, a request is remembered in 8 KiB, and what is left out is counted.
func TestBoundedInBytes(t *testing.T) {
	var r Ring
	f := request(1)
	f.Asked = strings.Repeat("a", 200)
	for range 500 {
		f.Trail = append(f.Trail, journal.Step{Provider: "p", Model: strings.Repeat("m", 1000), Message: strings.Repeat("words ", 10_000)})
	}
	r.RequestEnded(f)
	got, _ := r.Find("req_1")
	size := 0
	for _, s := range got.Trail {
		size += len(s.Model) + len(s.Message)
	}
	if size > maxBytes || len(got.Trail) < 5 || len(got.Trail)+got.CutSteps != 502 || got.CutCandidates+len(got.List) != 2 {
		t.Errorf("%d bytes, %d steps, %d and %d left out", size, len(got.Trail), got.CutSteps, got.CutCandidates)
	}
	if len(f.Trail[10].Message) != 60_000 {
		t.Error("the fact itself was changed")
	}
}

// A ring that is full allocates nothing for a request that went well.
func TestNothingIsAllocated(t *testing.T) {
	var r Ring
	f := request(1)
	for range 2 * Requests {
		r.RequestEnded(f)
	}
	if n := testing.AllocsPerRun(100, func() { r.RequestEnded(f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestManyAtOnce(t *testing.T) {
	var r Ring
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 1000 {
				r.RequestEnded(request(w*1000 + i))
				if i%100 > 0 {
					continue
				}
				if f, ok := r.Find("req_0"); ok && len(f.Trail) != 2 {
					t.Errorf("%+v", f)
					return
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkRequestEnded(b *testing.B) {
	var r Ring
	f := request(1)
	b.ReportAllocs()
	for b.Loop() {
		r.RequestEnded(f)
	}
}
