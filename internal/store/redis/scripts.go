package redis

import (
	_ "embed" // the scripts

	"github.com/redis/rueidis"

	"evergate/internal/replica"
)

var (
	//go:embed lua/put.lua
	putScript string
	//go:embed lua/read.lua
	readScript string
	//go:embed lua/beat.lua
	beatScript string
	//go:embed lua/drop.lua
	dropScript string
	//go:embed lua/claim.lua
	claimScript string
	//go:embed lua/yield.lua
	yieldScript string
)

// scripts are sent by their hash, and whole to a server that does not know them (any more).
type scripts struct {
	put, read, beat, drop, claim, yield *rueidis.Lua
}

func newScripts() scripts {
	return scripts{
		put: rueidis.NewLuaScript(putScript), read: rueidis.NewLuaScript(readScript), beat: rueidis.NewLuaScript(beatScript),
		drop: rueidis.NewLuaScript(dropScript), claim: rueidis.NewLuaScript(claimScript), yield: rueidis.NewLuaScript(yieldScript),
	}
}

// names are the keys; the string is what all begin with.
type names string

func (n names) members() string                  { return string(n) + "members" }
func (n names) pages(topic replica.Topic) string { return string(n) + "pages:" + string(topic) }
func (n names) at(topic replica.Topic) string    { return string(n) + "at:" + string(topic) }
func (n names) of(instance string) string        { return string(n) + "of:" + instance }
func (n names) lease(name string) string         { return string(n) + "lease:" + name }
func (n names) channel() string                  { return string(n) + "heard" }
