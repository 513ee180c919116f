// Package attempt runs one request's failover session: it is the only caller of upstreams. It sends, watches the
// clock, judges what comes back, settles permits and hands the answer to a sink; what to do next is failover's
// decision. It knows no provider by name, no client protocol beyond wire.Dialect, no config and no metrics.
package attempt
