// Package provider owns the shared mechanics of talking to an upstream over HTTP: transports, credentials on the
// wire, reading Retry-After, decoding gzip, classifying what came back. Adapters for one provider's API live below it.
// It knows nothing of guards, routing, clients or configuration files.
package provider
