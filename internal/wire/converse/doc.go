// Package converse is the dialect of Amazon Bedrock's Converse API, as providers speak it: how a request is written for
// it, how a reply or a stream's event is judged and what it says, and how an error is read. Beside it are the requests
// for vectors that Bedrock takes through InvokeModel: Titan's, Nova's and Cohere's.
//
// It owns the JSON alone. Streams reach it as server-sent events, each the payload of one frame under the frame's type:
// {"contentBlockDelta":{…}}; a frame that is an exception is the object {"exception":"throttlingException","message":…}.
// It must not know AWS's framing, signatures or regions, nor which model is asked beyond its id and its vendor: those are
// the provider adapter's. No client speaks it.
package converse
