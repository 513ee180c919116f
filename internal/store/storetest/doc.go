// Package storetest holds a store to what replication expects of it: every promise of replica.Store is a subtest with a
// name. It knows no technology; where stores may differ, Options say so. Only tests import it.
package storetest
