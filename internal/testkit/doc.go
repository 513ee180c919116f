// Package testkit is for tests only: an in-memory network on which real net/http clients and servers run inside
// testing/synctest bubbles, in virtual time and without system calls, and golden files. It knows nothing of the
// gateway and must never be linked into a binary.
package testkit
