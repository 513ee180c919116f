// Package alert tells people of what they should know at once: it decides from the journal's facts what is worth a message, and
// brings it to the receivers of the configuration, signed, in order and more than once if need be. An incident is one message when it
// begins and one when it is over, however many facts it makes; in a fleet one instance sends them.
//
// It knows facts and an HTTP client that it is given. It must not know guards, providers, stores or the configuration file, and no
// receiver's URL, which may be a secret as a whole, leaves it in an error, a log line or a figure.
package alert
