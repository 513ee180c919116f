package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// on asks something of an answer that was given.
func (s *stack) on(method, path string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "http://gateway"+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func idOf(t *testing.T, h *heard) string {
	t.Helper()
	for line := range strings.Lines(h.raw) {
		data := strings.TrimPrefix(line, "data: ")
		var r struct {
			ID       string
			Response struct{ ID string }
		}
		if json.Unmarshal([]byte(data), &r) == nil && r.ID+r.Response.ID != "" {
			return r.ID + r.Response.ID
		}
	}
	t.Fatalf("no id in %s", h.raw)
	return ""
}

// previous_response_id works where the target has no store of its own: the gateway puts the conversation back in.
func TestThreadKeptByTheGateway(t *testing.T) {
	responses := speakers()[2]
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream %t", stream), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, everyVendor, map[string]mock.Script{"a": {}})
				ask := func(model, input, previous string) *heard {
					body := fmt.Sprintf(`{"model":%q,"stream":%t,"input":%q,"previous_response_id":%q}`, model, stream, input, previous)
					if previous == "" {
						body = fmt.Sprintf(`{"model":%q,"stream":%t,"input":%q}`, model, stream, input)
					}
					h := s.talk(&responses, model, stream, body)
					if h.status != 200 || h.failed != "" {
						t.Fatalf("%d %s", h.status, h.raw)
					}
					return h
				}
				first := idOf(t, ask("anthropic/m", "my name is Ada", ""))
				told := ask("anthropic/m", "who am I?", first)
				second := idOf(t, told)
				if !strings.Contains(told.raw, `"previous_response_id":"`+first+`"`) {
					t.Errorf("the answer does not say what it continues: %s", told.raw)
				}
				third := ask("chat/m", "and now?", second) // another provider goes on where the first left
				seen := slices.DeleteFunc(s.mocks["a"].Requests(), func(r mock.Seen) bool { return r.Method != http.MethodPost })
				last := string(seen[len(seen)-1].Body)
				for _, words := range []string{"my name is Ada", "who am I?", "and now?", "simulated provider a"} {
					if !strings.Contains(last, words) {
						t.Errorf("the request to the third turn lacks %q: %s", words, last)
					}
				}
				status, body := s.on(http.MethodGet, "/v1/responses/"+second)
				if status != 200 || !strings.Contains(body, second) || !strings.Contains(body, `"completed"`) {
					t.Errorf("GET: %d %s", status, body)
				}
				status, body = s.on(http.MethodGet, "/v1/responses/"+second+"/input_items?order=asc")
				if status != 200 || strings.Index(body, "Ada") > strings.Index(body, "who am I?") || !strings.Contains(body, `"has_more":false`) {
					t.Errorf("input items: %d %s", status, body)
				}
				if status, body = s.on(http.MethodPost, "/v1/responses/"+second+"/cancel"); status != 400 {
					t.Errorf("cancel: %d %s", status, body)
				}
				if status, body = s.on(http.MethodDelete, "/v1/responses/"+second); status != 200 || !strings.Contains(body, `"deleted":true`) {
					t.Errorf("DELETE: %d %s", status, body)
				}
				if status, body = s.on(http.MethodGet, "/v1/responses/"+second); status != 404 {
					t.Errorf("GET after it: %d %s", status, body)
				}
				h := s.talk(&responses, "chat/m", false, fmt.Sprintf(`{"model":"chat/m","input":"?","previous_response_id":%q}`, idOf(t, third)))
				if h.status != 400 || !strings.Contains(h.raw, "previous_response_id") || !strings.Contains(h.raw, second) {
					t.Errorf("a conversation with a hole: %d %s", h.status, h.raw)
				}
			})
		})
	}
}

// store: false keeps nothing, and an answer that nobody knows is no conversation.
func TestThreadNotKept(t *testing.T) {
	responses := speakers()[2]
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, everyVendor, map[string]mock.Script{"a": {}})
		h := s.talk(&responses, "", false, `{"model":"anthropic/m","input":"hello","store":false}`)
		id := idOf(t, h)
		if status, body := s.on(http.MethodGet, "/v1/responses/"+id); status != 404 {
			t.Errorf("GET: %d %s", status, body)
		}
		synctest.Wait() // for a look at the list of models
		before := len(s.mocks["a"].Requests())
		h = s.talk(&responses, "", false, fmt.Sprintf(`{"model":"anthropic/m","input":"?","previous_response_id":%q}`, id))
		if h.status != 400 || !strings.Contains(h.raw, `"param":"previous_response_id"`) || len(s.mocks["a"].Requests()) != before {
			t.Errorf("%d %s", h.status, h.raw)
		}
	})
}

// Where the provider has a store of its own, an answer is continued, fetched and deleted there, and nowhere else.
func TestThreadKeptByTheProvider(t *testing.T) {
	responses := speakers()[2]
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, everyVendor+"models: {demo: {targets: [responses/m, anthropic/m]}}\n", map[string]mock.Script{"a": {}})
		id := idOf(t, s.talk(&responses, "", false, `{"model":"demo","input":"my name is Ada"}`))
		h := s.talk(&responses, "", false, fmt.Sprintf(`{"model":"demo","input":"who am I?","previous_response_id":%q}`, id))
		if h.status != 200 || h.header.Get("X-Evergate-Model") != "responses/m" {
			t.Fatalf("%d by %s: %s", h.status, h.header.Get("X-Evergate-Model"), h.raw)
		}
		h = s.talk(&responses, "", false, fmt.Sprintf(`{"model":"anthropic/m","input":"who am I?","previous_response_id":%q}`, id))
		if h.status != 400 || !strings.Contains(h.raw, "previous_response_id") || !strings.Contains(h.raw, "responses") {
			t.Errorf("at a provider that does not have it: %d %s", h.status, h.raw)
		}
		status, body := s.on(http.MethodGet, "/v1/responses/"+id)
		if status != 200 || !strings.Contains(body, id) {
			t.Errorf("GET: %d %s", status, body)
		}
		if status, body = s.on(http.MethodGet, "/v1/responses/"+id+"/input_items"); status != 200 || !strings.Contains(body, "Ada") {
			t.Errorf("input items: %d %s", status, body)
		}
		if status, body = s.on(http.MethodDelete, "/v1/responses/"+id); status != 200 {
			t.Errorf("DELETE: %d %s", status, body)
		}
		if status, body = s.on(http.MethodGet, "/v1/responses/"+id); status != 404 {
			t.Errorf("GET after it: %d %s", status, body)
		}
	})
}
