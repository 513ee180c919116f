// Package front is what stands between the network and the handlers: it decides which connections are taken, whose they are, and how
// TLS is spoken on them. It owns certificates and their renewal, the PROXY header of balancers, what proxies say of their clients, limits
// of connections, pages of other origins, and addresses from which keys are guessed.
//
// It must not know what is served, who the callers are, nor the configuration file.
package front
