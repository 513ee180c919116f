// Package sqlite is the store of one machine: a file that survives the process, read and written by one gateway, and for a moment by two while
// one takes over from another. It owns the file, its schema and the words for what is wrong with it; further tables live in this
// package beside pages. It must not know what a page means.
//
// What was committed survives the end of the process in any way; a loss of power may cost the last seconds, and leaves the file whole.
package sqlite
