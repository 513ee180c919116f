// Package sim plays a scenario through the gateway's own engine in virtual time (R73): the same guards
// (resilience), routes (route) and sessions (failover) that serve live traffic, against scripted weather. It owns the
// clients' arrivals, what an upstream does with an attempt and when, and the report. There is no HTTP and no goroutine, it
// reads no clock, and random numbers come from sources that are given in: the same scenario with the same numbers ends in
// the same report. It knows no config file and no form of output.
//
// What a live attempt has and a simulated one has not: translation between APIs, R46's checks, keep-alives, resumed
// streams, and the pace at which a client reads.
package sim
