package responses

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

func appendError(dst []byte, f wire.Failure) []byte {
	dst = append(dst, `{"error":`...)
	dst = openaiwords.AppendError(dst, &f)
	return append(dst, '}')
}

// failedCode is the code of a failed response. The dialect lists the codes there are; two more are sent by OpenAI itself,
// and clients act on them. Every other one, such as the gateway's own, is a server_error.
func failedCode(f *wire.Failure) string {
	switch f.Code {
	case "server_error", "rate_limit_exceeded", "invalid_prompt", "data_residency_mismatch", "bio_policy",
		"vector_store_timeout", "invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url",
		"image_too_large", "image_too_small", "image_parse_error", "image_content_policy_violation",
		"invalid_image_mode", "image_file_too_large", "unsupported_image_media_type", "empty_image_file",
		"failed_to_download_image", "image_file_not_found",
		"context_length_exceeded", "insufficient_quota":
		return f.Code
	}
	if f.Status == 429 {
		return "rate_limit_exceeded"
	}
	return "server_error"
}

// appendStreamError appends response.failed, the last event of a stream that breaks off. The official SDKs hand such an
// event out and go on as if nothing were wrong, but raise on an event with an "error" of its own, so it has one, with
// the gateway's own code and attempts in it (R15).
func appendStreamError(dst []byte, f wire.Failure) []byte {
	dst = append(dst, `event: response.failed`+"\n"+`data: {"type":"response.failed","sequence_number":`...)
	dst = strconv.AppendInt(dst, f.Said.Sequence, 10)
	dst = append(dst, `,"response":`...)
	dst = appendBare(dst, f.Said, "failed", &f)
	dst = append(dst, `,"error":`...)
	dst = openaiwords.AppendError(dst, &f)
	return append(dst, "}\n\n"...)
}

// appendEnd appends a response.completed to a stream that ended without a terminal event but with an explicit end
// marker (R17). What it said is not repeated: it went by unread.
func appendEnd(dst []byte, p *wire.Progress) []byte {
	if p.SawFinish || !p.SawContent {
		return dst
	}
	dst = append(dst, `event: response.completed`+"\n"+`data: {"type":"response.completed","sequence_number":`...)
	dst = strconv.AppendInt(dst, p.Sequence, 10)
	dst = append(dst, `,"response":`...)
	dst = appendBare(dst, wire.Said{ID: p.ID, Model: p.Reply.Model, Created: p.Created}, "completed", nil)
	return append(dst, "}\n\n"...)
}

// appendBare appends a response object of which nothing but the stream is known.
func appendBare(dst []byte, s wire.Said, status string, f *wire.Failure) []byte {
	dst = append(dst, `{"id":`...)
	if s.ID == "" {
		s.ID = unnamed
	}
	dst = jsonscan.AppendString(dst, s.ID)
	dst = append(dst, `,"object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, s.Created, 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, status...)
	dst = append(dst, `","error":`...)
	if f == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, `{"code":`...)
		dst = jsonscan.AppendString(dst, failedCode(f))
		dst = append(dst, `,"message":`...)
		dst = jsonscan.AppendString(dst, f.Message)
		dst = append(dst, '}')
	}
	dst = append(dst, `,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"metadata":{},"model":`...)
	dst = jsonscan.AppendString(dst, s.Model)
	return append(dst, `,"output":[],"parallel_tool_calls":true,"previous_response_id":null,"temperature":null,`+
		`"tool_choice":"auto","tools":[],"top_p":null}`...)
}
