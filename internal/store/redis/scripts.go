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
	//go:embed lua/keep.lua
	keepScript string
	//go:embed lua/chain.lua
	chainScript string
	//go:embed lua/forget.lua
	forgetScript string
	//go:embed lua/write.lua
	writeScript string
	//go:embed lua/expire.lua
	expireScript string
	//go:embed lua/exchange.lua
	exchangeScript string
)

// scripts are sent by their hash, and whole to a server that does not know them (any more).
type scripts struct {
	put, read, beat, drop, claim, yield *rueidis.Lua
	keep, chain, forget                 *rueidis.Lua // of answers
	write, expire                       *rueidis.Lua // of the ledger
	exchange                            *rueidis.Lua // of counts
}

func newScripts() scripts {
	return scripts{
		put: rueidis.NewLuaScript(putScript), read: rueidis.NewLuaScript(readScript), beat: rueidis.NewLuaScript(beatScript),
		drop: rueidis.NewLuaScript(dropScript), claim: rueidis.NewLuaScript(claimScript), yield: rueidis.NewLuaScript(yieldScript),
		keep: rueidis.NewLuaScript(keepScript), chain: rueidis.NewLuaScript(chainScript), forget: rueidis.NewLuaScript(forgetScript),
		write: rueidis.NewLuaScript(writeScript), expire: rueidis.NewLuaScript(expireScript),
		exchange: rueidis.NewLuaScript(exchangeScript),
	}
}

// names are the keys; the string is what all begin with.
type names string

func (n names) members() string                  { return string(n) + "members" }
func (n names) pages(topic replica.Topic) string { return string(n) + "pages:" + string(topic) }
func (n names) at(topic replica.Topic) string    { return string(n) + "at:" + string(topic) }
func (n names) of(instance string) string        { return string(n) + "of:" + instance }
func (n names) lease(name string) string         { return string(n) + "lease:" + name }
func (n names) answers() string                  { return string(n) + "answers" }
func (n names) answerBytes() string              { return string(n) + "answer-bytes" }
func (n names) answersOf(owner string) string    { return string(n) + "answer:" + pack(owner) }
func (n names) ledger() string                   { return string(n) + "ledger" }
func (n names) ledgerIDs() string                { return string(n) + "ledger-ids" }
func (n names) ledgerBytes() string              { return string(n) + "ledger-bytes" }
func (n names) timeline() string                 { return string(n) + "timeline" }
func (n names) sums() string                     { return string(n) + "sums" }
func (n names) bucket(of string) string          { return string(n) + "sums:" + of }
func (n names) meter(name string) string         { return string(n) + "meter:" + name }
func (n names) channel() string                  { return string(n) + "heard" }
