// Package drill is the rules by which faults are injected into live providers, to rehearse an outage (R74): what a rule says, which
// attempts it is for, how it is written, and what a fault does to an answer. It must not know the clock, who is asked how, or that
// there are other instances; package running, below it, keeps the drills that run.
package drill
