package vertex

import (
	"evergate/internal/fault"
	"evergate/internal/provider"
)

// faults are what Vertex says otherwise than the Gemini API (RESILIENCE §2). Claude's errors are in Anthropic's words.
func faults() []provider.Entry {
	return []provider.Entry{
		// R6 before R4: quotas are of a base model in a region.
		{From: 429, To: 429, InBody: true, Says: []string{"per_base_model", "with base model"}, Class: fault.ModelLimited},
		// R6 before R10: the project may use others.
		{From: 400, To: 403, InBody: true, Says: []string{"not allowed to use publisher model"}, Class: fault.ModelLimited},
		// R9 in a 400: it is not in this region.
		{From: 400, To: 400, InBody: true, Says: []string{"is not servable in region"}, Class: fault.ModelMissing},
		// R7 before R6: the words name a model, the permission is the account's for all of them.
		{From: 403, To: 403, InBody: true, Says: []string{"permission 'aiplatform."}, Class: fault.Auth},
	}
}
