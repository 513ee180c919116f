package affinity

import (
	"fmt"
	"testing"
	"time"

	"evergate/internal/route"
)

// answer has a conversation answered at a target.
func answer(table *Table, at time.Time, conversation, provider string) {
	a := chat(`{"messages":[]}`)
	a.Header.Set(Header, conversation)
	v := table.Recall(at, a, byAll())
	table.Answered(at, &v, provider, "m", 0, "main")
}

func recall(table *Table, at time.Time, conversation string) Visit {
	a := chat(`{"messages":[]}`)
	a.Header.Set(Header, conversation)
	return table.Recall(at, a, byAll())
}

// R47: what one instance tells, another one knows: where the conversation is, and with which key. What is younger stands, whoever saw it.
func TestWhatIsToldIsKnown(t *testing.T) {
	one, two := New(), New()
	one.Share(true)
	two.Share(true)
	answer(one, start, "c1", "a")
	told := one.News(10)
	if len(told) != 1 {
		t.Fatalf("told: %+v", told)
	}
	two.Hear(told)
	v := recall(two, start, "c1")
	if !v.Known() || !two.Is(&v, "a", "m") || two.Is(&v, "b", "m") {
		t.Errorf("heard: %+v", v)
	}
	if !v.Foreign() || v.Credential() != 0 || !v.Named("main") || v.Named("other") {
		t.Errorf("its key: %+v", v)
	}
	if v := recall(two, start.Add(byAll().TTL), "c1"); v.Known() {
		t.Error("it is known for longer than it was where it was answered")
	}
	if again := append(one.News(10), two.News(10)...); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
	answer(one, start, "c1", "a")
	if again := one.News(10); len(again) != 1 {
		t.Errorf("answered again: %+v", again)
	}

	answer(two, start.Add(time.Second), "c1", "b")
	if v := recall(two, start.Add(time.Second), "c1"); v.Foreign() || v.Credential() != 1 {
		t.Errorf("answered here, its key: %+v", v)
	}
	two.Hear(told)
	if v := recall(two, start.Add(time.Second), "c1"); !two.Is(&v, "b", "m") {
		t.Error("what is older took its place")
	}
	one.Hear(two.News(10))
	if v := recall(one, start.Add(time.Second), "c1"); !one.Is(&v, "b", "m") {
		t.Error("what is younger did not")
	}
}

// News are each conversation once, the latest first and no more than asked for; what falls out is counted.
func TestNews(t *testing.T) {
	table := New()
	answer(table, start, "before", "a")
	if got := table.News(10); len(got) != 0 {
		t.Errorf("not shared, and %d are told", len(got))
	}
	table.Share(true)
	for range 3 {
		for i := range 10 {
			answer(table, start.Add(time.Duration(i)*time.Second), fmt.Sprint(i), "a")
		}
	}
	got := table.News(4)
	if len(got) != 4 || table.Lost() != 6 {
		t.Fatalf("%d are told, %d lost", len(got), table.Lost())
	}
	for i, n := range got {
		if want := start.Add(time.Duration(9-i) * time.Second).UnixMilli(); n.At != want {
			t.Errorf("%d: %d, want %d", i, n.At, want)
		}
	}
	if got := table.News(10); len(got) != 0 {
		t.Errorf("%d are told again", len(got))
	}
	const many = 20_000
	for i := range many {
		answer(table, start, fmt.Sprint("m", i), "a")
	}
	told, lost := len(table.News(1000)), int(table.Lost())-6
	if told != 1000 || told+lost != many {
		t.Errorf("%d told, %d lost of %d", told, lost, many)
	}
	if got := table.Latest(1000); len(got) != 1000 || got[0].At < got[999].At {
		t.Errorf("%d latest", len(got))
	}
}

// Two instances tell of one conversation under the same id and target; other seeds would be another fleet's.
func TestIDsAreTheSameEverywhere(t *testing.T) {
	a := chat(goesOn)
	h := begin(a, route.ByCacheKey)
	a.Request.Body = []byte(`{"prompt_cache_key":"k1"}`)
	h.text("k1")
	if got, want := h.id(), (id{0xc6db2859cd77e9e9, 0x76fb9cb64421d891}); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
	if got := targetOf("openai", "gpt"); got != 0x76394752 {
		t.Errorf("target %#x", got)
	}
	if got := credentialOf("main"); got != 0x614b {
		t.Errorf("credential %#x", got)
	}
}

// What is gathered and what is not come to the same.
func TestHashesAreOfBytesAlone(t *testing.T) {
	text := make([]byte, 1000)
	for i := range text {
		text[i] = byte(i * 7)
	}
	var whole hashes
	whole.add(text)
	want := whole.id()
	for _, size := range []int{1, 7, 127, 128, 129, 500} {
		var h hashes
		for rest := text; len(rest) > 0; {
			n := min(size, len(rest))
			h.add(rest[:n])
			rest = rest[n:]
		}
		if got := h.id(); got != want {
			t.Errorf("in parts of %d: %x, want %x", size, got, want)
		}
		text[999]++
		var other hashes
		other.add(text)
		text[999]--
		if other.id() == want || other.id()[0] == other.id()[1] {
			t.Error("no hash")
		}
	}
}
