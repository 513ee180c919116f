package traces

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strconv"
)

// OTLP over gRPC is one call with one message each way: a POST over HTTP/2 whose answer's trailers hold the status. That is what
// this file does; gRPC's own library would add more to the program than all vendors of models together.

// grpcPath is the method, as a path.
const grpcPath = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

// The codes of gRPC after which the same call may be made again, as OTLP has it.
const (
	grpcCancelled         = 1
	grpcDeadlineExceeded  = 4
	grpcResourceExhausted = 8
	grpcAborted           = 10
	grpcOutOfRange        = 11
	grpcUnavailable       = 14
	grpcDataLoss          = 15
)

// framed puts a message into a frame.
func framed(message []byte, compressed bool) []byte {
	out := make([]byte, 5, 5+len(message))
	if compressed {
		out[0] = 1
	}
	binary.BigEndian.PutUint32(out[1:], uint32(len(message))) //nolint:gosec // a batch is some megabytes at most
	return append(out, message...)
}

func setGRPC(h http.Header, s *Settings) {
	h.Set("Content-Type", "application/grpc")
	h.Set("Te", "trailers")
	h.Set("Grpc-Timeout", strconv.FormatInt(s.Timeout.Milliseconds(), 10)+"m")
	if s.Gzip {
		h.Set("Grpc-Encoding", "gzip")
	}
}

// judgeGRPC says what an answer means; its body has been read, so that its trailers are there.
func judgeGRPC(resp *http.Response, body []byte) verdict {
	if resp.StatusCode != http.StatusOK {
		v := verdict{err: fmt.Errorf("the collector answered %d, and no gRPC", resp.StatusCode)}
		switch resp.StatusCode {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			v.again = true
		}
		return v
	}
	said := resp.Trailer.Get("Grpc-Status")
	if said == "" {
		said = resp.Header.Get("Grpc-Status") // an answer without a message
	}
	code, err := strconv.Atoi(said)
	if err != nil {
		return verdict{err: fmt.Errorf("the collector's answer has no gRPC status"), again: true}
	}
	switch code {
	case 0:
		if len(body) > 5 && body[0] == 0 {
			lost, _ := rejected(body[5:])
			return verdict{lost: max(lost, 0)}
		}
		return verdict{}
	case grpcCancelled, grpcDeadlineExceeded, grpcResourceExhausted, grpcAborted, grpcOutOfRange, grpcUnavailable, grpcDataLoss:
		return verdict{err: fmt.Errorf("the collector answered with gRPC status %d", code), again: true}
	}
	return verdict{err: fmt.Errorf("the collector answered with gRPC status %d", code)}
}
