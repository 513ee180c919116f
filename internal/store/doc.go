// Package store is the room of the stores: one package for each technology, and storetest with what each of them owes. A store
// keeps what others lay down and says it again; it knows no guard, no fleet and no policy.
package store
