// Package memory is the store of one process that keeps nothing after it, and of fleets in tests: what its handles lay down
// lives in this process's memory alone. It must not know what it keeps.
package memory
