"""The openai SDK in front of every upstream dialect: chat completions and Responses."""

import json
from typing import Literal

import openai
import pydantic

from checks import *

client = openai.OpenAI(base_url=URL + "/v1", api_key="unused", max_retries=0, timeout=30)


class GetWeather(pydantic.BaseModel):
    city: Literal["Paris", "Rome"]


class Report(pydantic.BaseModel):
    city: str
    degrees: int
    sky: list[Literal["sun", "rain"]]


FUNCTION = {"name": "get_weather", "description": DESCRIPTION, "parameters": SCHEMA}
CHAT_TOOLS = [
    {"type": "function", "function": FUNCTION | {"strict": True}},
    {"type": "function", "function": {"name": "get_time", "parameters": NOTHING}},
]
RESPONSES_TOOLS = [
    {"type": "function", "strict": True} | FUNCTION,
    {"type": "function", "strict": False, "name": "get_time", "parameters": NOTHING},
]
ASK = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": QUESTION}]
IMAGE = "data:image/png;base64," + PNG


def chat(u):
    raw = client.chat.completions.with_raw_response.create(model=u.model, messages=ASK)
    assert raw.headers["x-evergate-provider"] == u.name, dict(raw.headers)
    assert raw.headers["x-request-id"], dict(raw.headers)
    reply = raw.parse()
    assert reply.object == "chat.completion" and reply.model, reply
    choice = reply.choices[0]
    assert choice.message.role == "assistant" and QUESTION in choice.message.content, reply
    assert choice.finish_reason == "stop", reply
    usage(reply.usage)


def usage(u):
    assert u.prompt_tokens > 0 and u.completion_tokens > 0 and u.total_tokens == u.prompt_tokens + u.completion_tokens, u


def chat_stream(u):
    text, finish, last = "", None, None
    for chunk in client.chat.completions.create(
        model=u.model, messages=ASK, stream=True, stream_options={"include_usage": True}
    ):
        assert chunk.object == "chat.completion.chunk", chunk
        for choice in chunk.choices:
            assert finish is None, "something after the finish"
            text += choice.delta.content or ""
            finish = choice.finish_reason
        last = chunk
    assert QUESTION in text and finish == "stop", (text, finish)
    usage(last.usage)


def chat_stream_helper(u):
    with client.chat.completions.stream(model=u.model, messages=ASK) as stream:
        seen = [e.type for e in stream]
        reply = stream.get_final_completion()
    assert seen.count("content.delta") > 3 and seen.count("content.done") == 1, seen
    assert QUESTION in reply.choices[0].message.content, reply


def chat_limit(u):
    choice = client.chat.completions.create(model=u.model, messages=ASK, max_completion_tokens=3).choices[0]
    assert choice.finish_reason == "length", choice


def chat_image(u):
    content = [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": IMAGE}}]
    reply = client.chat.completions.create(model=u.model, messages=[{"role": "user", "content": content}])
    assert "1 image" in reply.choices[0].message.content, reply


def chat_parse(u):
    reply = client.chat.completions.parse(model=u.model, messages=ASK, response_format=Report)
    report = reply.choices[0].message.parsed
    assert isinstance(report, Report) and report.sky[0] in ("sun", "rain"), reply


def chat_parse_stream(u):
    with client.chat.completions.stream(model=u.model, messages=ASK, response_format=Report) as stream:
        report = stream.get_final_completion().choices[0].message.parsed
    assert isinstance(report, Report), report


def chat_tools(u):
    """Two calls at once, both answered, a second question in the same conversation, and a second round."""
    messages = ASK[:1] + [{"role": "user", "content": QUESTION + " Look in parallel."}]
    first = client.chat.completions.create(model=u.model, messages=messages, tools=CHAT_TOOLS).choices[0]
    calls = first.message.tool_calls
    assert first.finish_reason == "tool_calls", first
    assert [c.function.name for c in calls] == ["get_weather", "get_time"], calls
    assert [json.loads(c.function.arguments) for c in calls] == [{"city": CITY}, {}], calls
    assert calls[0].id != calls[1].id, calls
    messages += [first.message.to_dict()]
    messages += [{"role": "tool", "tool_call_id": c.id, "content": WEATHER} for c in calls]
    second = client.chat.completions.create(model=u.model, messages=messages, tools=CHAT_TOOLS).choices[0]
    assert second.finish_reason == "stop", second
    assert second.message.content.count(WEATHER) == 2, second
    messages += [second.message.to_dict(), {"role": "user", "content": QUESTION}]
    third = client.chat.completions.create(
        model=u.model, messages=messages, tools=CHAT_TOOLS, tool_choice={"type": "function", "function": {"name": "get_time"}}
    ).choices[0]
    assert [c.function.name for c in third.message.tool_calls] == ["get_time"], third


def chat_tools_parsed(u):
    """pydantic tools, whose arguments the SDK parses."""
    tool = openai.pydantic_function_tool(GetWeather, name="get_weather")
    reply = client.chat.completions.parse(model=u.model, messages=ASK, tools=[tool], tool_choice="required")
    (call,) = reply.choices[0].message.tool_calls
    assert call.function.parsed_arguments == GetWeather(city=CITY), call


def chat_tools_stream(u):
    messages = ASK[:1] + [{"role": "user", "content": QUESTION + " Look in parallel."}]
    with client.chat.completions.stream(model=u.model, messages=messages, tools=CHAT_TOOLS) as stream:
        done = [e for e in stream if e.type == "tool_calls.function.arguments.done"]
        first = stream.get_final_completion().choices[0]
    assert [(e.name, json.loads(e.arguments)) for e in done] == [("get_weather", {"city": CITY}), ("get_time", {})], done
    assert first.finish_reason == "tool_calls", first
    message = {
        "role": "assistant",
        "tool_calls": [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in first.message.tool_calls
        ],
    }
    # What a provider needs back with a call (a signature of Gemini 3) rides on it in a field of its own.
    for sent, got in zip(message["tool_calls"], first.message.tool_calls):
        if extra := (got.model_extra or {}).get("extra_content"):
            sent["extra_content"] = extra
    messages += [message] + [{"role": "tool", "tool_call_id": c.id, "content": WEATHER} for c in first.message.tool_calls]
    with client.chat.completions.stream(model=u.model, messages=messages, tools=CHAT_TOOLS) as stream:
        weather(stream.get_final_completion().choices[0].message.content)


def chat_reasoning(u):
    reply = client.chat.completions.create(model=u.model, messages=ASK, reasoning_effort="low")
    assert QUESTION in reply.choices[0].message.content, reply


def chat_async(u):
    async def go():
        async with openai.AsyncOpenAI(base_url=URL + "/v1", api_key="unused", max_retries=0, timeout=30) as c:
            stream = await c.chat.completions.create(model=u.model, messages=ASK, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    return go_and(go(), lambda text: QUESTION in text)


async def go_and(coroutine, holds):
    result = await coroutine
    assert holds(result), result


def embeddings(u):
    if not u.embedding_model:
        return
    reply = client.embeddings.create(model=u.embedding_model, input=["hello", "world"])
    assert [e.index for e in reply.data] == [0, 1], reply
    assert all(isinstance(x, float) for e in reply.data for x in e.embedding) and len(reply.data[0].embedding) > 2, reply


def errors(create):
    """Each refusal is the SDK's own class, with the provider's words."""

    def check(u):
        with raises(openai.BadRequestError) as e:
            create(u, extra_headers=fault("status=400; message=no such luck"))
        assert "no such luck" in e.error.message and e.error.type, e.error.body
        with raises(openai.RateLimitError) as e:
            create(u, extra_headers=fault("status=429; retry-after=7"))
        assert e.error.response.headers["retry-after"] == "7", dict(e.error.response.headers)
        with raises(openai.InternalServerError) as e:
            create(u, extra_headers=fault("status=500"))
        assert e.error.status_code == 502 and e.error.body["attempts"][0]["status"] == 500, e.error.body

    return check


def cut(create):
    """A stream that breaks off after content raises: it never ends as if it were whole (R15)."""

    def check(u):
        for how in ("cut=3", "eof=3", "error=3"):
            events = []
            with raises(openai.APIError) as e:
                for event in create(u, stream=True, extra_headers=fault(how)):
                    events.append(event)
            assert events and e.error.message, (how, e.error)

    return check


def ask_chat(u, **more):
    return client.chat.completions.create(model=u.model, messages=ASK, **more)


def ask_responses(u, **more):
    return client.responses.create(model=u.model, instructions=INSTRUCTIONS, input=QUESTION, **more)


chat_errors, chat_cut = named("chat_errors", errors(ask_chat)), named("chat_cut", cut(ask_chat))
responses_errors = named("responses_errors", errors(ask_responses))
responses_cut = named("responses_cut", cut(ask_responses))


def unknown_model():
    for create in (ask_chat, ask_responses):
        with raises(openai.NotFoundError) as e:
            create(Upstream("", "no-such-model"))
        assert e.error.code == "model_not_found", e.error.body


def responses(u):
    raw = client.responses.with_raw_response.create(model=u.model, instructions=INSTRUCTIONS, input=QUESTION)
    assert raw.headers["x-evergate-provider"] == u.name, dict(raw.headers)
    reply = raw.parse()
    assert reply.object == "response" and reply.status == "completed" and reply.error is None, reply
    assert QUESTION in reply.output_text, reply
    assert reply.usage.input_tokens > 0 and reply.usage.output_tokens > 0, reply.usage


def responses_stream(u):
    text, types, numbers = "", [], []
    for event in ask_responses(u, stream=True):
        types.append(event.type)
        numbers.append(event.sequence_number)
        if event.type == "response.output_text.delta":
            text += event.delta
    assert QUESTION in text, text
    assert types[0] == "response.created" and types[-1] == "response.completed", types
    assert numbers == list(range(len(numbers))), numbers
    assert event.response.output_text == text and event.response.usage.output_tokens > 0, event


def responses_stream_helper(u):
    with client.responses.stream(model=u.model, input=QUESTION) as stream:
        seen = [e.type for e in stream]
        reply = stream.get_final_response()
    assert seen.count("response.output_text.delta") > 3 and QUESTION in reply.output_text, (seen, reply)


def responses_parse(u):
    reply = client.responses.parse(model=u.model, input=QUESTION, text_format=Report)
    assert isinstance(reply.output_parsed, Report), reply
    with client.responses.stream(model=u.model, input=QUESTION, text_format=Report) as stream:
        assert isinstance(stream.get_final_response().output_parsed, Report)


def responses_image(u):
    content = [{"type": "input_text", "text": "Look."}, {"type": "input_image", "image_url": IMAGE, "detail": "auto"}]
    reply = client.responses.create(model=u.model, input=[{"role": "user", "content": content}])
    assert "1 image" in reply.output_text, reply


def responses_tools(u):
    """The conversation carried by the client, store: false, with thoughts that go back sealed."""
    more = dict(
        model=u.model, tools=RESPONSES_TOOLS, store=False, include=["reasoning.encrypted_content"], reasoning={"effort": "low"}
    )
    conversation = [
        {"role": "developer", "content": INSTRUCTIONS},
        {"role": "user", "content": QUESTION + " Look in parallel."},
    ]
    first = client.responses.create(input=conversation, **more)
    calls = [item for item in first.output if item.type == "function_call"]
    assert [(c.name, json.loads(c.arguments)) for c in calls] == [("get_weather", {"city": CITY}), ("get_time", {})], first
    conversation += [item.to_dict() for item in first.output]
    conversation += [{"type": "function_call_output", "call_id": c.call_id, "output": WEATHER} for c in calls]
    second = client.responses.create(input=conversation, **more)
    assert second.output_text.count(WEATHER) == 2, second


def responses_tools_stream(u):
    conversation = [{"role": "user", "content": QUESTION}]
    with client.responses.stream(model=u.model, input=conversation, tools=RESPONSES_TOOLS) as stream:
        done = [e for e in stream if e.type == "response.function_call_arguments.done"]
        first = stream.get_final_response()
    assert len(done) == 1 and json.loads(done[0].arguments) == {"city": CITY}, done
    call = next(item for item in first.output if item.type == "function_call")
    conversation += [item.to_dict() for item in first.output]
    conversation += [{"type": "function_call_output", "call_id": call.call_id, "output": WEATHER}]
    with client.responses.stream(model=u.model, input=conversation, tools=RESPONSES_TOOLS) as stream:
        weather(stream.get_final_response().output_text)


def responses_thread(u):
    """The conversation kept by the server: previous_response_id, read, listed and deleted."""
    first = client.responses.create(model=u.model, instructions=INSTRUCTIONS, input=QUESTION, tools=RESPONSES_TOOLS)
    call = next(item for item in first.output if item.type == "function_call")
    second = client.responses.create(
        model=u.model,
        previous_response_id=first.id,
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": WEATHER}],
        tools=RESPONSES_TOOLS,
    )
    weather(second.output_text)
    assert second.previous_response_id == first.id, second
    stored = client.responses.retrieve(second.id)
    assert stored.id == second.id and stored.output_text == second.output_text, stored
    items = list(client.responses.input_items.list(second.id, order="asc"))
    assert items[-1].type == "function_call_output", items
    with client.responses.stream(model=u.model, input="My name is Ada.") as stream:
        told = stream.get_final_response()
    with client.responses.stream(model=u.model, previous_response_id=told.id, input="Who am I?") as stream:
        asked = stream.get_final_response()
    assert "Who am I?" in asked.output_text, asked
    items = client.responses.input_items.list(asked.id, order="asc")
    said = [c.text for item in items if item.type == "message" for c in item.content]
    assert said[0] == "My name is Ada." and said[-1] == "Who am I?", said
    client.responses.delete(second.id)
    with raises(openai.NotFoundError):
        client.responses.retrieve(second.id)


def recorded_chat():
    for r in recordings():
        tools = [{"type": "function", "function": {"name": n, "parameters": {"type": "object"}}} for n, _ in r.calls]
        more = dict(model=r.upstream.model, messages=ASK, extra_headers=r.headers) | ({"tools": tools} if tools else {})
        if r.streamed:
            with client.chat.completions.stream(stream_options={"include_usage": True}, **more) as stream:
                try:
                    reply = stream.get_final_completion()
                except (openai.ContentFilterFinishReasonError, openai.LengthFinishReasonError) as e:
                    reply = e.completion
        else:
            reply = client.chat.completions.create(**more)
        choice, calls = reply.choices[0], reply.choices[0].message.tool_calls or []
        text = (choice.message.content or "") + (choice.message.refusal or "")
        counts = reply.usage.prompt_tokens, reply.usage.completion_tokens
        expect(r, text, [(c.function.name, c.function.arguments) for c in calls], *counts, choice.finish_reason)


def recorded_responses():
    for r in recordings():
        tools = [{"type": "function", "name": n, "parameters": {"type": "object"}, "strict": False} for n, _ in r.calls]
        more = dict(model=r.upstream.model, input=QUESTION, extra_headers=r.headers) | ({"tools": tools} if tools else {})
        if r.streamed:
            final = None
            for event in client.responses.create(stream=True, **more):
                final = event
            assert final.type in ("response.completed", "response.incomplete"), final
            reply = final.response
        else:
            reply = client.responses.create(**more)
        calls = [(i.name, i.arguments) for i in reply.output if i.type == "function_call"]
        refusals = [c.refusal for i in reply.output if i.type == "message" for c in i.content if c.type == "refusal"]
        expect(r, reply.output_text + "".join(refusals), calls, reply.usage.input_tokens, reply.usage.output_tokens)
        if r.thinks:
            assert any(i.type == "reasoning" for i in reply.output), (r.file, reply)


if __name__ == "__main__":
    run(
        unknown_model, recorded_chat, recorded_responses,
        chat, chat_stream, chat_stream_helper, chat_limit, chat_image, chat_parse, chat_parse_stream,
        chat_tools, chat_tools_parsed, chat_tools_stream, chat_reasoning, chat_async, chat_errors, chat_cut, embeddings,
        responses, responses_stream, responses_stream_helper, responses_parse, responses_image,
        responses_tools, responses_tools_stream, responses_thread, responses_errors, responses_cut,
    )  # fmt: skip
