package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxStored is how many responses a Provider keeps; the oldest go first.
const maxStored = 256

// store keeps responses, so that they can be read again and gone on from. It is safe for concurrent use.
type store struct {
	mu    sync.Mutex
	order []string
	byID  map[string]*kept
}

// kept is one response: what it was asked (what came before it included) and what it said.
type kept struct {
	before, input []node
	whole         json.RawMessage
	output        []node
}

func (s *store) put(id, previous string, input []node, whole map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[string]*kept{}
	}
	k := &kept{input: input, whole: encode(whole)}
	if p := s.byID[previous]; p != nil {
		k.before = p.conversation()
	}
	n, err := parseNode(k.whole)
	if err != nil {
		panic("BUG: mock response does not parse: " + err.Error())
	}
	k.output = n.at("output").each()
	if len(s.order) >= maxStored {
		delete(s.byID, s.order[0])
		s.order = s.order[1:]
	}
	s.byID[id] = k
	s.order = append(s.order, id)
}

func (k *kept) conversation() []node { return slices.Concat(k.before, k.input, k.output) }

// conversation is all that was said up to a response, that included. No id is no conversation.
func (s *store) conversation(id string) ([]node, bool) {
	if id == "" {
		return nil, true
	}
	k, ok := s.get(id)
	if !ok {
		return nil, false
	}
	return k.conversation(), true
}

func (s *store) get(id string) (*kept, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.byID[id]
	return k, ok
}

func (s *store) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
	s.order = slices.DeleteFunc(s.order, func(x string) bool { return x == id })
}

// storedResponse reads, deletes or cancels a stored response, or lists its input.
func (j *job) storedResponse() answer {
	k, ok := j.p.stored.get(j.resource)
	if !ok {
		return refused(&apiError{Status: http.StatusNotFound, Message: fmt.Sprintf("Response with id '%s' not found.", j.resource)})
	}
	switch {
	case j.op == opCancel:
		return refused(badRequest("Cannot cancel a synchronous response."))
	case j.method == http.MethodDelete:
		j.p.stored.remove(j.resource)
		return answered(map[string]any{"id": j.resource, "object": "response", "deleted": true})
	case !j.itemsAsked():
		return answer{status: http.StatusOK, plain: k.whole}
	}
	return answered(j.itemList(slices.Concat(k.before, k.input)))
}

func (j *job) itemsAsked() bool {
	return strings.HasSuffix(strings.TrimSuffix(j.path, "/"), "/input_items")
}

// itemList is a page of a response's input, newest first unless order=asc.
func (j *job) itemList(items []node) map[string]any {
	list := make([]map[string]any, len(items))
	for i, item := range items {
		m := map[string]any{"type": itemType(item), "id": fmt.Sprintf("item_mock%06d", i+1)}
		for _, name := range item.names() {
			m[name] = item.at(name).v
		}
		if s, ok := m["content"].(string); ok {
			m["content"] = []any{map[string]any{"type": "input_text", "text": s}}
			m["status"] = "completed"
		}
		list[i] = m
	}
	if j.query.Get("order") != "asc" {
		slices.Reverse(list)
	}
	if after := j.query.Get("after"); after != "" {
		if i := slices.IndexFunc(list, func(m map[string]any) bool { return m["id"] == after }); i >= 0 {
			list = list[i+1:]
		}
	}
	limit, err := strconv.Atoi(j.query.Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		limit = 20
	}
	page := map[string]any{"object": "list", "has_more": len(list) > limit, "first_id": nil, "last_id": nil}
	list = list[:min(limit, len(list))]
	if page["data"] = list; len(list) > 0 {
		page["first_id"], page["last_id"] = list[0]["id"], list[len(list)-1]["id"]
	}
	return page
}
