// Package http1 owns a client of HTTP/1.1 in clear text that does its work on the goroutine that asks.
//
// The transport of net/http gives each connection two goroutines. They cost a stack each for as long as a stream is
// open, and hand every request from one to the other; to a gateway that holds thousands of streams these are the larger
// part of what it has to pay. Here the caller writes the request and reads the answer itself. Parsing is net/http's own
// (http.ReadResponse).
//
// It knows one address, nothing of TLS, HTTP/2 and proxies (net/http does these well), sends nothing twice but where it
// knows that nothing was written, and knows nothing of providers, models and faults.
package http1
