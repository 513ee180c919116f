// Package provider owns the shared mechanics of talking to an upstream over HTTP: transports, credentials on the
// wire, reading Retry-After, decoding gzip, classifying what came back. What single vendors do differently is a Vendor;
// each is made by a package below it. It knows nothing of guards, routing, clients or configuration files.
package provider
