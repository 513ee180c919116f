// Package traces turns the facts of requests into OpenTelemetry spans and hands them to a collector over OTLP. It owns
// what the OTEL_ variables mean, the W3C trace context of clients, sampling, the names of attributes, and the queue
// between a request's end and the collector. It must not know the request path: ids are drawn when a request begins, and
// everything else is made from journal.Request, in the background, after its end.
//
// OTLP is one message of three levels, and its bytes are written here, without OpenTelemetry's SDK and exporters: see
// docs/adr/0010.
package traces
