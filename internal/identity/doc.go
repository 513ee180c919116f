// Package identity says who asks: it knows the callers' keys, those of the config and those made at run time, and the bearers of tokens that an issuer signed. It owns what a
// key may do, how keys are made, kept as hashes, looked up, rotated and revoked.
//
// It must not know HTTP routes, providers, or where keys are kept. It never holds a key that was made here, only its hash.
package identity
