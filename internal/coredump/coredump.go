// Package coredump owns that what the process has in memory, its credentials and its callers' prompts, is not written down when it crashes,
// and is not read by other processes of the same user. It knows nothing of what the secrets are.
package coredump

// Forbid has the operating system leave the process's memory out of core dumps and refuse debuggers of the same user. It is called before
// the first secret is read. A process that is started by this one begins as the system starts processes, but for the limit of a core's size and what a core leaves out. Calling it again
// changes nothing. Where the system has no such thing it does nothing; an error says which protection is missing, the others are in force.
func Forbid() error { return forbid() }
