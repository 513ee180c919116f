// Package mock is the simulated provider behind `evergate mock`, `evergate demo` and the tests: an http.Handler that
// speaks every dialect (OpenAI's chat completions, legacy completions, embeddings and Responses, Azure's forms of them,
// Anthropic's Messages, Gemini, Vertex AI, Bedrock's Converse, Cohere; plain and streamed, tool calls, thoughts, usage) and
// fails on demand, in every way a real upstream was seen to fail. Its answers are deterministic. It knows nothing of the
// gateway: no fault classes, no guards, no config, and above all none of its codecs, so that it is an independent witness
// of what they write; it is only ever met over HTTP.
//
// A dialect reads a request into a talk (what is asked), refuses what its real API refuses unless the script is lenient,
// and writes a saying (what is said, the same for all) in its own words. docs/mock.md says what is answered to what.
//
// # Choosing a fault
//
// For each request the behaviour comes from the first of these that says one:
//
//  1. the request header x-mock-fault, such as "status=503; retry-after=2" or "latency=2s; cut=3": the keys of a
//     behaviour below, "-" and "_" alike; a flag such as gzip needs no value; header=name: value may come often;
//  2. the model's name: mock-hang, mock-silent, mock-stall, mock-reset, mock-reset-headers, mock-reset-stream, mock-close,
//     mock-cut, mock-eof, mock-error, mock-error-late, mock-malformed, mock-no-done, mock-no-finish, mock-empty, mock-html,
//     mock-comments, mock-gzip, mock-slow, and mock-NNN for any status from 300 to 599;
//  3. the first rule of the script that matches;
//  4. the script's defaults.
//
// The first two start from the defaults too. Before any of them, keys (if the script lists some) refuse other keys with
// a 401.
//
// # The script
//
// A script is YAML. Keys are strict, durations have units, all problems are reported together, with lines. Everything
// is optional:
//
//	name: blue                       # spoken in answers, to tell providers apart
//	seed: 7                          # of the rules' probabilities
//	models: [gpt-4o, embed-small]    # listed by GET /v1/models; any other model is then a 404 (default: all are served)
//	keys: [sk-one, sk-two]           # accepted keys; any other is a 401 (default: all are accepted)
//	lenient: false                   # true: answer what the real API would refuse
//	replay: {dir: recordings}        # a model with the name of a recording there is answered with it
//	defaults:                        # the behaviour where no rule matches, and the start of each rule's own
//	  latency: 30ms
//	  chunk_delay: 10ms
//	rules:                           # in order: the first that matches decides
//	  - name: outage                 # for Seen.Rule and logs
//	    model: gpt-4o*               # exact, or with * for any run of characters
//	    schedule: up 20s, down 10s   # flapping: the rule holds in the down phases
//	    do: {status: 503}
//	  - key: sk-one                  # one key is limited
//	    nth: 1-3
//	    do: {status: 429, retry_after: 2}
//	  - path: /embeddings
//	    probability: 0.1
//	    do: {reset: before_headers}
//
// What a rule may match on, all of which must hold:
//
//	model        the request's model, * allowed
//	path         such as /chat/completions, with or without /v1, * allowed; without it the rule is for requests to models
//	             only, never for lists of models or stored responses, so that discovery does not use up an nth
//	key          the credential as sent (Authorization: Bearer, api-key, x-api-key, x-goog-api-key, ?key=, AWS access key id)
//	stream       true or false: what the request asked for
//	schedule     phases in turn, from the start of the provider, such as "up 20s, down 10s"; they repeat, unless the last
//	             has no duration ("up 30s, down 10s, up"), which then lasts for ever
//	nth          which of the requests that came this far: 1, 2-5, 4- or "every 3"
//	probability  0 to 1; the same seed and order of requests give the same draws
//
// # The behaviour
//
// What a rule does (do) and the defaults (defaults) have these keys:
//
//	latency      wait before the headers
//	first_token  wait between the headers (and a stream's role chunk) and the content
//	chunk_delay  wait between content chunks
//	keepalive    during waits and hangs after the headers, a comment (": keepalive") this often; in a plain reply a newline
//	chunks       number of content chunks; the text is repeated or cut to fit
//	chunk_size   characters in each content chunk (default: a word)
//	text         what the model says
//
//	status       HTTP status; from 300 with an error body of the dialect that fits it
//	code, type, message   words of that error, and of the error in a 200
//	headers      a mapping of reply headers, sent with any status
//	retry_after  short for the header of that name
//	body         sent as it is in place of any answer
//	content_type in place of the right one
//	replay       a recording below replay.dir, sent as it is
//
//	hang         stay silent from this point on until the client goes away
//	reset        TCP reset at this point
//	cut          close the connection at this point without an end of the body
//	eof          end the body properly at this point, too early
//	error        an error in a 200: a stream's error event at this point, or a plain body with an error object
//	malformed    the content chunk of this number, from 1, is broken JSON; a plain body is cut in half
//	noise        an event of its own that is broken JSON comes before the content chunk of this number, from 1
//	prefill      what words of the model's own at the end of the conversation do: restart (the answer begins anew),
//	             continue (it goes on from them, where they are how it begins) or refuse (a 400)
//	no_done      no end marker ([DONE], message_stop, response.completed …)
//	no_finish    no finish reason
//	empty        no body at all
//	html         a page of HTML in place of the answer
//	gzip         compressed, asked for or not
//	as           json or stream: that form whatever was asked for
//
// A point is one of
//
//	before_headers   nothing was sent (hang, reset, cut)
//	headers          headers were sent, nothing else
//	0                what opens a stream was sent, no content (plain: as headers)
//	N                N content chunks were sent, or all if there are fewer (plain: half of the body)
//	finish           the finish chunk was sent, but no usage and no end marker (plain: the body, but not its end)
//	end              everything was sent but the end of the body
//
// Of hang, reset, cut, eof and error a behaviour has at most one. On HTTP/2, reset and cut are RST_STREAM.
//
// # Watching
//
// Provider.Requests tells what was asked, which rule decided and when a client went away; Provider.Counts counts. A
// credential is kept as its last four characters. Over HTTP, GET /mock/requests tells the same of the last 256 requests,
// bodies and headers left out, as JSON; it is not a request of its own.
package mock
