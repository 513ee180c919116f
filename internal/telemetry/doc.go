// Package telemetry turns the facts of the journal into what operators read: Prometheus metrics and log lines. Each
// exporter is a journal.Sink. It decides nothing, keeps no state but counts, and must not know the request path, the
// config or where a fact came from; labels and log fields are built from the facts alone, and a label never from what
// a client wrote.
package telemetry
