package mock

import (
	"net/http"
	"slices"
)

// released is when every model came out: the first second of 2025, as good as any.
const released = 1735689600

// modelNames are what the script lists, or what stands for any.
func (s *Script) modelNames() []string {
	if len(s.Models) == 0 {
		return []string{"mock-chat", "mock-embedding"}
	}
	return s.Models
}

// serves refuses a model that the script does not list.
func (s *Script) serves(q *request) *apiError {
	switch q.op {
	case opModels, opStored, opCancel, opNone:
		return nil
	case opGenerate, opComplete, opEmbed, opCount:
	}
	if _, isPreset := preset(q.Model); isPreset || len(s.Models) == 0 || slices.Contains(s.Models, q.Model) {
		return nil
	}
	return &apiError{Status: http.StatusNotFound, scripted: true}
}

// openAIModels is the list of models, or one of them.
func (j *job) openAIModels() answer {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	names := j.s.modelNames()
	if j.resource != "" {
		if !slices.Contains(names, j.resource) {
			return refused(&apiError{Status: http.StatusNotFound, Message: openAINotFound(j.resource), Code: "model_not_found"})
		}
		return answered(model{j.resource, "model", released, "evergate-mock"})
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list"}
	for _, id := range names {
		list.Data = append(list.Data, model{id, "model", released, "evergate-mock"})
	}
	return answered(list)
}
