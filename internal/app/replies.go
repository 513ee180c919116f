package app

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"evergate/internal/admin"
	"evergate/internal/config"
	"evergate/internal/ingress"
	"evergate/internal/journal"
	"evergate/internal/replies"
	"evergate/internal/route"
	"evergate/internal/telemetry"
)

// cacheRules gives the models that keep answers. A rule's mark stays while nothing changed that its answers hang on; a model of which
// something changed loses its answers, and those that are under way are kept under the old mark, where nobody looks.
func (a *App) cacheRules(next *config.Config, p *parts, out *ingress.Config) {
	out.ReplyLimits = replies.Limits{Bytes: next.Cache.MaxBytes, Entry: next.Cache.MaxEntry}
	if len(next.Cache.Models) == 0 {
		out.ReplyLimits = replies.Limits{}
		return
	}
	before := a.config.Load()
	out.Replies = make(map[string]*ingress.ReplyRule, len(next.Cache.Models))
	for name, m := range next.Cache.Models {
		mark := a.marks[name]
		if mark == 0 || before == nil || !a.sameModel(name, before, next, p) {
			a.lastMark++
			mark = a.lastMark
		}
		out.Replies[name] = &ingress.ReplyRule{TTL: m.TTL, Always: m.Always, Mark: mark}
	}
}

// purgeCache removes the answers of models that are other ones than before, or keep none any more.
func (a *App) purgeCache(rules map[string]*ingress.ReplyRule) {
	marks := make(map[string]uint64, len(rules))
	for name, r := range rules {
		marks[name] = r.Mark
	}
	for name, mark := range a.marks {
		if marks[name] != mark {
			a.ingress.Replies().Purge(name)
		}
	}
	a.marks = marks
}

// sameModel says whether a virtual model gives the same answers after a reload: its targets, their providers and what words go through are the same.
func (a *App) sameModel(name string, before, next *config.Config, p *parts) bool {
	was, is := before.Table.Virtual[name], next.Table.Virtual[name]
	if was == nil || is == nil || !reflect.DeepEqual(was, is) || !reflect.DeepEqual(before.Guardrails, next.Guardrails) {
		return false
	}
	for _, list := range [][]route.Target{is.Targets, is.On} {
		for i := range list {
			old, now := a.upstreams[list[i].Provider], p.upstreams[list[i].Provider]
			if old == nil || now == nil || old.identity != now.identity {
				return false
			}
		}
	}
	return true
}

// cacheSources are the cache for the admin API. A purge stands in the audit log.
func (a *App) cacheSources() admin.CacheSources {
	return admin.CacheSources{
		Cache: func() admin.Cache {
			s := a.ingress.Replies().Stats()
			return admin.Cache{Entries: s.Entries, Bytes: s.Bytes, MaxBytes: s.MaxBytes, Models: append([]string{}, slices.Sorted(maps.Keys(a.config.Load().Cache.Models))...)}
		},
		Purge: func(model, by string) (int, bool) {
			if _, ok := a.config.Load().Cache.Models[model]; model != "" && !ok {
				return 0, false
			}
			n := a.ingress.Replies().Purge(model)
			a.sink.Changed(&journal.Change{At: time.Now(), Action: "cache_purged", Subject: model, By: by, Result: "ok"})
			return n, true
		},
	}
}

// cacheState is what the metrics read of the cache at a scrape.
func (a *App) cacheState() telemetry.CacheState {
	s := a.ingress.Replies().Stats()
	return telemetry.CacheState{Entries: s.Entries, Bytes: s.Bytes}
}
