"""The openai SDK, talking through the gateway to model servers of its own dialect."""

import json
import os

import openai

from checks import URL, run

MODEL = os.environ["MODEL"]  # a virtual model with two targets
client = openai.OpenAI(base_url=URL + "/v1", api_key="unused", max_retries=0, timeout=60)

HELLO = [{"role": "user", "content": "Say hello"}]
WEATHER = [{"role": "user", "content": "What is the weather in Paris?"}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get the weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}},
                "required": ["city"],
            },
        },
    }
]
CALL = dict(tools=TOOLS, tool_choice="required", max_tokens=64, temperature=0, stop=["</tool_call>"])


def models():
    ids = [m.id for m in client.models.list()]
    assert MODEL in ids, ids
    assert client.models.retrieve(MODEL).id == MODEL


def chat():
    reply = client.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=16)
    choice = reply.choices[0]
    assert choice.message.role == "assistant" and choice.message.content, reply
    assert choice.finish_reason in ("stop", "length"), reply
    assert reply.usage.completion_tokens > 0, reply


def headers():
    raw = client.chat.completions.with_raw_response.create(model=MODEL, messages=HELLO, max_tokens=4)
    for name in ("x-request-id", "x-evergate-provider", "x-evergate-model", "x-evergate-attempts", "x-evergate-trail"):
        assert raw.headers.get(name), (name, dict(raw.headers))
    assert raw.parse().choices, raw.text


def stream():
    text, finish, usage = [], None, None
    for chunk in client.chat.completions.create(
        model=MODEL, messages=HELLO, max_tokens=16, stream=True, stream_options={"include_usage": True}
    ):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text.append(choice.delta.content or "")
            finish = choice.finish_reason or finish
    assert "".join(text) and len(text) > 2, text
    assert finish in ("stop", "length"), finish
    assert usage and usage.completion_tokens > 0, usage


def stream_without_usage():
    """Usage that nobody asked for is withheld: no chunk without choices."""
    chunks = list(client.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=4, stream=True))
    assert chunks and all(c.choices for c in chunks), chunks


def completions():
    reply = client.completions.create(model=MODEL, prompt="Once upon a time", max_tokens=8)
    assert reply.choices[0].text, reply


def embeddings():
    reply = client.embeddings.create(model=os.environ["EMBEDDING_MODEL"], input=["hello", "world"])
    assert len(reply.data) == 2 and len(reply.data[0].embedding) > 8, reply
    assert any(x != 0 for x in reply.data[0].embedding)


def embeddings_missing():
    """A server without embeddings is a clear refusal that says why."""
    try:
        client.embeddings.create(model=os.environ["NO_EMBEDDING_MODEL"], input="hello")
    except openai.APIStatusError as e:
        assert 400 <= e.status_code < 500, e
        assert "embeddings" in e.message, e
        return
    raise AssertionError("no error")


def tools():
    first = client.chat.completions.create(model=MODEL, messages=WEATHER, **CALL).choices[0]
    call = first.message.tool_calls[0]
    assert first.finish_reason == "tool_calls", first
    assert call.function.name == "get_weather" and "city" in json.loads(call.function.arguments), call
    second = client.chat.completions.create(
        model=MODEL,
        messages=WEATHER
        + [first.message.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": "12 degrees, rain"}],
        max_tokens=16,
    )
    assert second.choices[0].message.content, second


def tools_streamed():
    name, arguments, finish = "", "", None
    for chunk in client.chat.completions.create(model=MODEL, messages=WEATHER, stream=True, **CALL):
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or []:
                name += call.function.name or ""
                arguments += call.function.arguments or ""
    assert name == "get_weather" and "city" in json.loads(arguments), (name, arguments)
    assert finish == "tool_calls", finish


def unknown_model():
    try:
        client.chat.completions.create(model=MODEL + "x", messages=HELLO)
    except openai.NotFoundError as e:
        assert e.code == "model_not_found" and e.param == "model", e.body
        assert repr(MODEL)[1:-1] in e.message.replace(MODEL + "x", ""), e.message  # the nearest known name
        return
    raise AssertionError("no error")


def bad_request():
    try:
        client.chat.completions.create(model=MODEL, messages=HELLO, extra_body={"stream": "yes"})
    except openai.BadRequestError as e:
        assert e.code == "invalid_request" and e.param == "stream", e.body
        return
    raise AssertionError("no error")


def rate_limited():
    try:
        client.chat.completions.create(model=os.environ["LIMITED_MODEL"], messages=HELLO)
    except openai.RateLimitError as e:
        assert e.code == "all_providers_rate_limited", e.body
        assert int(e.response.headers["retry-after"]) > 0, dict(e.response.headers)
        return
    raise AssertionError("no error")


def server_error():
    try:
        client.chat.completions.create(model=os.environ["BROKEN_MODEL"], messages=HELLO)
    except openai.InternalServerError as e:
        assert e.status_code == 502 and e.code == "provider_error", e.body
        assert e.body["attempts"][0]["status"] == 500, e.body
        return
    raise AssertionError("no error")


def cut_stream():
    """A stream that is cut after content raises; it never ends as if it were whole (R15)."""
    text = ""
    try:
        for chunk in client.chat.completions.create(model=os.environ["CUT_MODEL"], messages=HELLO, stream=True):
            text += chunk.choices[0].delta.content or ""
    except openai.APIError as e:
        assert text, "the content before the cut is missing"
        assert e.message, e
        return
    raise AssertionError("a cut stream ended cleanly after " + repr(text))


if __name__ == "__main__":
    run(
        models, chat, headers, stream, stream_without_usage, completions, embeddings, embeddings_missing,
        tools, tools_streamed, unknown_model, bad_request, rate_limited, server_error, cut_stream,
    )  # fmt: skip
