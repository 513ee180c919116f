package config

import "evergate/internal/quota"

// modelLimits are what all callers together may use of virtual models at a time, by name; nil: no model is limited.
func (b *builder) modelLimits() map[string]quota.Limits {
	var out map[string]quota.Limits
	for _, e := range b.file.models.v {
		if l := e.v.limits.v; l != (quota.Limits{}) && !e.wrong {
			if out == nil {
				out = map[string]quota.Limits{}
			}
			out[e.name] = l
		}
	}
	return out
}
