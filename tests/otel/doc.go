// Package otel holds the traces of the built program against a real OpenTelemetry collector: one with the receiver that people
// run, in this process, and an exporter that keeps what came. It knows the program only from outside.
package otel
