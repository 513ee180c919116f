package wiretest_test

import (
	"strings"
	"testing"

	"evergate/internal/wire/openaichat"
)

// What is text of an answer reaches clients of the older completions too; they have no place for anything else.
func TestRecordedToCompletions(t *testing.T) {
	t.Parallel()
	c := &client{"completions", openaichat.Completions{}, `"stream":true,"stream_options":{"include_usage":true}`}
	for _, r := range recordedAnswers() {
		source := r.source(t)
		if source.Choices[0].Text == "" || r.file == twoAnswers {
			continue
		}
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			reply, err := parse(r.plain(t, c))
			if err != nil {
				t.Fatal(err)
			}
			streamed := make([]string, len(source.Choices))
			stream := r.relayed(t, c)
			if !strings.HasSuffix(string(stream), "data: [DONE]\n\n") {
				t.Fatalf("no end: %s", tail(stream))
			}
			for _, data := range cutEvents(t, stream) {
				e, _ := parse(data)
				for _, choice := range items(e, "choices") {
					streamed[number(choice, "index")] += str(choice, "text")
				}
			}
			for i := range source.Choices {
				if want, got := source.Choices[i].Text, str(reply, "choices", i, "text"); got != want || streamed[i] != want {
					t.Errorf("choice %d: %q, whole %q, streamed %q", i, want, got, streamed[i])
				}
				if str(reply, "choices", i, "finish_reason") == "" {
					t.Errorf("choice %d has no finish", i)
				}
			}
		})
	}
}
