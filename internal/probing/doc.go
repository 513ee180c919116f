// Package probing asks providers whose circuit breaker is half-open whether they are back, by cheap requests of the
// gateway's own, so that no user's request has to find out (R75). It owns when such a request is due, what is asked, and
// what the answer means to the guards; it decides nothing about a user's request, and knows neither HTTP nor the
// configuration's text. While no breaker is open nothing of it runs.
package probing
