// Package replies keeps whole answers, so that the same request need not be asked again: in memory, within bounds of bytes and
// time, the one unused for longest going first. It owns when an answer is too old, too large or one too many.
//
// It must not know what a request means: whether an answer may be kept, and whom it may be given to, is said by who asks, with the Key.
// It reads no clock.
package replies
