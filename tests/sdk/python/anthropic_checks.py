"""The anthropic SDK in front of every upstream dialect."""

from typing import Literal

import anthropic
import pydantic

from checks import *

client = anthropic.Anthropic(base_url=URL, api_key="unused", max_retries=0, timeout=30)

TOOLS = [
    {"name": "get_weather", "description": DESCRIPTION, "input_schema": SCHEMA},
    {"name": "get_time", "input_schema": NOTHING},
]
THINK = {"type": "enabled", "budget_tokens": 1024}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


class Report(pydantic.BaseModel):
    city: str
    degrees: int
    sky: list[Literal["sun", "rain"]]


def request(u, text=QUESTION, **more):
    return dict(model=u.model, max_tokens=2048, system=INSTRUCTIONS, messages=[{"role": "user", "content": text}]) | more


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def calls_of(message):
    return [(block.name, block.input) for block in message.content if block.type == "tool_use"]


def answered(message):
    """What goes on a conversation in which every call is answered."""
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": [{"type": "text", "text": WEATHER}]}
        for block in message.content
        if block.type == "tool_use"
    ]
    return [{"role": "assistant", "content": [b.to_dict() for b in message.content]}, {"role": "user", "content": results}]


def messages(u):
    raw = client.messages.with_raw_response.create(**request(u))
    assert raw.headers["x-evergate-provider"] == u.name and raw.headers["x-request-id"], dict(raw.headers)
    reply = raw.parse()
    assert reply.type == "message" and reply.role == "assistant" and reply.model, reply
    assert reply._request_id == raw.headers["request-id"], dict(raw.headers)
    assert QUESTION in reply.content[0].text and reply.stop_reason == "end_turn", reply
    assert reply.usage.input_tokens > 0 and reply.usage.output_tokens > 0, reply


def stream(u):
    types = []
    for event in client.messages.create(**request(u, stream=True)):
        types.append(event.type)
        if event.type == "message_delta":
            assert event.delta.stop_reason == "end_turn" and event.usage.output_tokens > 0, event
    assert types[0] == "message_start" and types[-1] == "message_stop" and types.count("content_block_delta") > 3, types


def stream_helper(u):
    with client.messages.stream(**request(u)) as s:
        pieces = list(s.text_stream)
        reply = s.get_final_message()
    assert len(pieces) > 3 and QUESTION in "".join(pieces) == text_of(reply), reply
    assert reply.stop_reason == "end_turn" and reply.usage.output_tokens > 0, reply


def limit(u):
    reply = client.messages.create(**request(u, max_tokens=3))
    assert reply.stop_reason == "max_tokens", reply


def stop_sequence(u):
    raw = client.messages.with_raw_response.create(**request(u, stop_sequences=["weather"]))
    reply, dropped = raw.parse(), raw.headers.get("x-evergate-dropped", "")
    if u.name in ("chat", "responses"):  # OpenAI's reasoning models have no stop sequences
        assert "stop" in dropped, dict(raw.headers)
        return
    assert "weather" not in text_of(reply) and "stop" not in dropped, (reply, dropped)
    if u.name == "anthropic":  # the others do not say which it was
        assert reply.stop_reason == "stop_sequence" and reply.stop_sequence == "weather", reply


def image(u):
    reply = client.messages.create(**request(u, [{"type": "text", "text": "Look."}, IMAGE]))
    assert "1 image" in text_of(reply), reply


def cache(u):
    """Cache markers go on, or are dropped with notice, and never refused."""
    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "Long instructions. " * 20} | mark]
    tools = [TOOLS[0], TOOLS[1] | mark]
    raw = client.messages.with_raw_response.create(**request(u, system=system, tools=tools))
    assert calls_of(raw.parse()) == [("get_weather", {"city": CITY})], raw.parse()


def tools(u):
    ask = request(u, QUESTION + " Look in parallel.", tools=TOOLS)
    first = client.messages.create(**ask)
    assert first.stop_reason == "tool_use" and calls_of(first) == [("get_weather", {"city": CITY}), ("get_time", {})], first
    ask["messages"] += answered(first)
    second = client.messages.create(**ask)
    assert text_of(second).count(WEATHER) == 2 and second.stop_reason == "end_turn", second


def tools_error(u):
    """A result that is an error, with text beside it."""
    ask = request(u, tools=TOOLS)
    ask["messages"] += answered(client.messages.create(**ask))
    ask["messages"][-1]["content"][0] |= {"content": "no such city", "is_error": True}
    assert "no such city" in text_of(client.messages.create(**ask))


def tools_stream(u):
    """Streamed calls after streamed thoughts, which go back sealed as they came."""
    ask = request(u, tools=TOOLS, thinking=THINK)
    with client.messages.stream(**ask) as s:
        partial = [e.partial_json for e in s if e.type == "input_json"]
        first = s.get_final_message()
    assert partial and calls_of(first) == [("get_weather", {"city": CITY})], first
    ask["messages"] += answered(first)
    with client.messages.stream(**ask) as s:
        weather(text_of(s.get_final_message()))


def thinking(u):
    reply = client.messages.create(**request(u, thinking=THINK))
    thoughts = [b for b in reply.content if b.type == "thinking"]
    assert QUESTION in text_of(reply), reply
    if u.name in ("anthropic", "bedrock"):
        assert thoughts and thoughts[0].thinking and thoughts[0].signature, reply


def forced(u):
    reply = client.messages.create(**request(u, tools=TOOLS, tool_choice={"type": "tool", "name": "get_time"}))
    assert calls_of(reply) == [("get_time", {})], reply


def tool_runner(u):
    """The SDK's own loop (beta): it calls the function and sends the result back."""
    asked = []

    @anthropic.beta_tool
    def get_weather(city: Literal["Paris", "Rome"]) -> str:
        """Get the weather of a city.

        Args:
            city: A city
        """
        asked.append(city)
        return WEATHER

    for streamed in (False, True):
        runner = client.beta.messages.tool_runner(**request(u, tools=[get_weather], stream=streamed))
        last = runner.until_done()
        weather(text_of(last))
    assert asked == [CITY, CITY], asked


def structured(u):
    reply = client.messages.parse(**request(u, output_format=Report))
    assert isinstance(reply.parsed_output, Report), reply


def count_tokens(u):
    ask = request(u, tools=TOOLS)
    del ask["max_tokens"]
    few = client.messages.count_tokens(**ask).input_tokens
    ask["messages"] = [{"role": "user", "content": QUESTION * 20}]
    many = client.messages.count_tokens(**ask).input_tokens
    assert 0 < few < many, (few, many)


def models():
    ids = [m.id for m in client.models.list()]
    for u in UPSTREAMS:
        assert any(id == u.model or u.model.endswith("/" + id) for id in ids), (u.model, ids)
        assert client.models.retrieve(u.model).type == "model"


def unknown_model():
    with raises(anthropic.NotFoundError) as e:
        client.messages.create(**request(Upstream("", "no-such-model")))
    assert e.error.body["error"]["type"] == "not_found_error", e.error.body


def errors(u):
    with raises(anthropic.BadRequestError) as e:
        client.messages.create(**request(u, extra_headers=fault("status=400; message=no such luck")))
    assert "no such luck" in e.error.message and e.error.body["type"] == "error", e.error.body
    assert e.error.body["error"]["type"] == "invalid_request_error", e.error.body
    with raises(anthropic.RateLimitError) as e:
        client.messages.create(**request(u, extra_headers=fault("status=429; retry-after=7")))
    assert e.error.response.headers["retry-after"] == "7", dict(e.error.response.headers)
    assert e.error.body["error"]["type"] == "rate_limit_error", e.error.body
    with raises(anthropic.InternalServerError) as e:
        client.messages.create(**request(u, extra_headers=fault("status=500")))
    assert e.error.status_code == 502 and e.error.body["error"]["type"] == "api_error", e.error.body


def cut(u):
    """A stream that breaks off after content raises, in both ways to read it (R15)."""
    for how in ("cut=3", "eof=3", "error=3"):
        seen = []
        with raises(anthropic.APIError):
            for event in client.messages.create(**request(u, stream=True, extra_headers=fault(how))):
                seen.append(event.type)
        assert "content_block_delta" in seen and "message_stop" not in seen, (how, seen)
        with raises(anthropic.APIError):
            with client.messages.stream(**request(u, extra_headers=fault(how))) as s:
                s.get_final_message()


def recorded():
    for r in recordings():
        ask = request(r.upstream, extra_headers=r.headers, thinking=THINK)
        if r.calls:
            ask["tools"] = [{"name": n, "input_schema": {"type": "object"}} for n, _ in r.calls]
        if r.streamed:
            with client.messages.stream(**ask) as s:
                reply = s.get_final_message()
        else:
            reply = client.messages.create(**ask)
        used = reply.usage
        tokens = used.input_tokens + (used.cache_creation_input_tokens or 0) + (used.cache_read_input_tokens or 0)
        refusal = "refusal" if r.file.startswith(("anthropic-messages/refusal", "openai-chat/refusal", "openai-responses/refusal")) else ""
        stop = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}.get(r.stop, "refusal")
        assert reply.stop_reason == (refusal or stop), (r.file, reply)
        expect(r, text_of(reply), calls_of(reply), tokens, used.output_tokens)
        if r.thinks:
            assert reply.content[0].type in ("thinking", "redacted_thinking"), (r.file, reply)


if __name__ == "__main__":
    run(
        models, unknown_model, recorded,
        messages, stream, stream_helper, limit, stop_sequence, image, cache, tools, tools_error, tools_stream, thinking,
        forced, tool_runner, structured, count_tokens, errors, cut,
    )  # fmt: skip
