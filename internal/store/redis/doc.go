// Package redis keeps replication's pages, kept answers and the ledger in Redis or Valkey (5 or newer): one server, a master behind Sentinels, or a Cluster. It owns the keys and
// scripts, the connections and what a failure of theirs says; it must not know what a page means or when anybody puts one.
//
// All keys have the hash tag {evergate}, so that a Cluster holds them in one slot: the scripts that put a page, its place in the index and its
// announcement in one step may touch keys of one slot only. What a fleet keeps is small (tens of kilobytes to some megabytes), it needs no second node. A prefix stands
// before the tag and tells fleets on one server apart.
//
//	<prefix>{evergate}:members         hash   instance → when seen, version, started, left
//	<prefix>{evergate}:pages:<topic>   hash   instance, key → sequence, time, body
//	<prefix>{evergate}:at:<topic>      zset   instance, key by time (µs)
//	<prefix>{evergate}:of:<instance>   set    topic, instance, key of its pages, for Drop
//	<prefix>{evergate}:lease:<name>    string the holder; expires with the lease
//	<prefix>{evergate}:answer:<owner, id>  string the answer that it continues, and the answer; expires with it
//	<prefix>{evergate}:answers         zset   size and key of each answer by its end (µs), for room to be made
//	<prefix>{evergate}:answer-bytes    string what all of them take together
//	<prefix>{evergate}:ledger          zset   row (16 bytes), id and body of each request, in the order of rows: all have the score 0
//	<prefix>{evergate}:ledger-ids      zset   id and row of each request
//	<prefix>{evergate}:ledger-bytes    string what the bodies take together
//	<prefix>{evergate}:timeline        zset   row and body of each entry
//	<prefix>{evergate}:sums            zset   m, r or h and the beginning of each bucket of sums (minutes, minutes by route alone, hours)
//	<prefix>{evergate}:sums:<bucket>   hash   key, route, model, provider → numbers, in the order of ledger.SumNames
//	<prefix>{evergate}:meter:<name>    hash   instance → version, time, end and what it counted of a limit or budget; expires with the last of them
//	<prefix>{evergate}:heard           channel of pub/sub: topic and page as it was put
//
// Nothing stays forever: while any instance beats the keys live, and Keep after the last beat they are gone (pages of the fleet's own after
// KeepFleet). Times are the server's (TIME). Sequences are 20 digits, because Lua's numbers are exact to 2^53 only.
//
// A user with an access list needs: ~<prefix>{evergate}:* &<prefix>{evergate}:* +@read +@write +@scripting +@pubsub +@connection +time, in a
// Cluster also +cluster|slots +cluster|shards.
package redis
