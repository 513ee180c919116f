// Package replica shares what one instance learned with the others of its fleet and with its own next start (R60 to R67): it carries the guards' rows,
// operators' orders, latencies and affinity between health and a store, and has only few instances probe a provider that may be back. It owns the loop, the translation of
// clocks, who counts as alive, and how the gateway goes on without the store. It must not know how a store keeps pages, what a row
// means to a guard, or anything of a request: nothing here is on a request's way.
package replica
