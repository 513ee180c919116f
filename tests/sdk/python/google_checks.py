"""The google-genai SDK in front of every upstream dialect."""

from typing import Literal

import pydantic
from google import genai
from google.genai import errors as genai_errors
from google.genai import types

from checks import *

client = genai.Client(
    api_key="unused",
    http_options=types.HttpOptions(base_url=URL, timeout=30_000, retry_options=types.HttpRetryOptions(attempts=1)),
)


class Report(pydantic.BaseModel):
    city: str
    degrees: int
    sky: list[Literal["sun", "rain"]]


WEATHER_TOOL = types.FunctionDeclaration(
    name="get_weather",
    description=DESCRIPTION,
    parameters=types.Schema(
        type="OBJECT", properties={"city": types.Schema(type="STRING", enum=["Paris", "Rome"])}, required=["city"]
    ),
)
TIME_TOOL = types.FunctionDeclaration(name="get_time", parameters_json_schema=NOTHING)
TOOLS = types.Tool(function_declarations=[WEATHER_TOOL, TIME_TOOL])


def config(**more):
    return types.GenerateContentConfig(system_instruction=INSTRUCTIONS, **more)


def manual(**more):
    """Tools whose calls the check answers itself."""
    return config(tools=[TOOLS], automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True), **more)


def faulty(words, **more):
    return config(http_options=types.HttpOptions(headers=fault(words)), **more)


def user(text):
    return types.Content(role="user", parts=[types.Part(text=text)])


def calls_of(reply):
    return [(c.name, c.args) for c in reply.function_calls or []]


def results(reply):
    return types.Content(
        role="user",
        parts=[
            types.Part(function_response=types.FunctionResponse(id=c.id, name=c.name, response={"result": WEATHER}))
            for c in reply.function_calls
        ],
    )


def gathered(chunks):
    """What a stream said, as one content and the last words on finish and usage."""
    parts, finish, usage = [], None, None
    for chunk in chunks:
        for candidate in chunk.candidates or []:
            parts += (candidate.content and candidate.content.parts) or []
            finish = candidate.finish_reason or finish
        usage = chunk.usage_metadata or usage
    return parts, finish, usage


def generate(u):
    reply = client.models.generate_content(model=u.model, contents=QUESTION, config=config())
    assert reply.sdk_http_response.headers["x-evergate-provider"] == u.name, reply.sdk_http_response.headers
    assert QUESTION in reply.text and reply.candidates[0].finish_reason == types.FinishReason.STOP, reply
    used = reply.usage_metadata
    assert used.prompt_token_count > 0 and used.candidates_token_count > 0 and used.total_token_count > 0, used
    assert reply.model_version and reply.response_id, reply


def stream(u):
    chunks = list(client.models.generate_content_stream(model=u.model, contents=QUESTION, config=config()))
    parts, finish, used = gathered(chunks)
    assert len(chunks) > 3 and QUESTION in "".join(p.text or "" for p in parts), chunks
    assert finish == types.FinishReason.STOP and used.candidates_token_count > 0, (finish, used)


def limit(u):
    reply = client.models.generate_content(model=u.model, contents=QUESTION, config=config(max_output_tokens=3))
    assert reply.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS, reply


def image(u):
    picture = types.Part.from_bytes(data=base64_decoded(PNG), mime_type="image/png")
    reply = client.models.generate_content(model=u.model, contents=["Look.", picture])
    assert "1 image" in reply.text, reply


def base64_decoded(text):
    import base64

    return base64.b64decode(text)


def tools(u):
    contents = [user(QUESTION + " Look in parallel.")]
    first = client.models.generate_content(model=u.model, contents=contents, config=manual())
    assert calls_of(first) == [("get_weather", {"city": CITY}), ("get_time", {})], first
    contents += [first.candidates[0].content, results(first)]
    second = client.models.generate_content(model=u.model, contents=contents, config=manual())
    assert second.text.count(WEATHER) == 2, second


def tools_stream(u):
    """The parts of a stream go back as they came, signatures and all."""
    contents = [user(QUESTION)]
    ask = manual(thinking_config=types.ThinkingConfig(include_thoughts=True))
    parts, _, _ = gathered(client.models.generate_content_stream(model=u.model, contents=contents, config=ask))
    calls = [p.function_call for p in parts if p.function_call]
    assert [(c.name, c.args) for c in calls] == [("get_weather", {"city": CITY})], parts
    answer = types.FunctionResponse(id=calls[0].id, name=calls[0].name, response={"result": WEATHER})
    contents += [types.Content(role="model", parts=parts), types.Content(role="user", parts=[types.Part(function_response=answer)])]
    parts, _, _ = gathered(client.models.generate_content_stream(model=u.model, contents=contents, config=ask))
    weather("".join(p.text or "" for p in parts if not p.thought))


def automatic(u):
    """The SDK's own loop: it calls the Python function and sends the result back."""
    asked = []

    def get_weather(city: str) -> str:
        """Get the weather of a city."""
        asked.append(city)
        return WEATHER

    reply = client.models.generate_content(model=u.model, contents=QUESTION, config=config(tools=[get_weather]))
    weather(reply.text)
    chat = client.chats.create(model=u.model, config=config(tools=[get_weather]))
    weather("".join(chunk.text or "" for chunk in chat.send_message_stream(QUESTION)))
    assert len(asked) == 2, asked


def forced(u):
    mode = types.FunctionCallingConfig(mode="ANY", allowed_function_names=["get_time"])
    ask = manual(tool_config=types.ToolConfig(function_calling_config=mode))
    reply = client.models.generate_content(model=u.model, contents=QUESTION, config=ask)
    assert calls_of(reply) == [("get_time", {})], reply


def structured(u):
    ask = config(response_mime_type="application/json", response_schema=Report)
    reply = client.models.generate_content(model=u.model, contents=QUESTION, config=ask)
    assert isinstance(reply.parsed, Report), reply
    ask = config(response_mime_type="application/json", response_json_schema=Report.model_json_schema())
    parts, _, _ = gathered(client.models.generate_content_stream(model=u.model, contents=QUESTION, config=ask))
    Report.model_validate_json("".join(p.text or "" for p in parts))


def chat(u):
    talk = client.chats.create(model=u.model, config=config())
    talk.send_message("My name is Ada.")
    assert "Who am I?" in talk.send_message("Who am I?").text
    assert len(talk.get_history()) == 4, talk.get_history()


def count_tokens(u):
    few = client.models.count_tokens(model=u.model, contents=QUESTION).total_tokens
    many = client.models.count_tokens(model=u.model, contents=QUESTION * 20).total_tokens
    assert 0 < few < many, (few, many)


def embed(u):
    if not u.embedding_model:
        return
    reply = client.models.embed_content(model=u.embedding_model, contents=["hello", "world"])
    assert len(reply.embeddings) == 2 and len(reply.embeddings[0].values) > 2, reply
    reply = client.models.embed_content(model=u.embedding_model, contents="hello")
    assert len(reply.embeddings) == 1 and any(reply.embeddings[0].values), reply


def models():
    names = [m.name for m in client.models.list()]
    for u in UPSTREAMS:
        assert any(n.removeprefix("models/").endswith(u.model.split("/")[1]) for n in names), (u.model, names)
    assert client.models.get(model=UPSTREAMS[0].model).name


def unknown_model():
    with raises(genai_errors.ClientError) as e:
        client.models.generate_content(model="no-such-model", contents=QUESTION)
    assert e.error.code == 404 and e.error.status == "NOT_FOUND", e.error


def errors(u):
    def ask(words):
        return client.models.generate_content(model=u.model, contents=QUESTION, config=faulty(words))

    with raises(genai_errors.ClientError) as e:
        ask("status=400; message=no such luck")
    assert e.error.code == 400 and e.error.status == "INVALID_ARGUMENT" and "no such luck" in e.error.message, e.error
    with raises(genai_errors.ClientError) as e:
        ask("status=429; retry-after=7")
    assert e.error.code == 429 and e.error.status == "RESOURCE_EXHAUSTED", e.error
    assert e.error.response.headers["retry-after"] == "7", e.error.response.headers
    with raises(genai_errors.ServerError) as e:
        ask("status=500")
    assert e.error.code == 502, e.error
    with raises(genai_errors.ClientError) as e:
        list(client.models.generate_content_stream(model=u.model, contents=QUESTION, config=faulty("status=429")))
    assert e.error.code == 429, e.error


def cut(u):
    """A stream that breaks off after content raises (R15)."""
    for how in ("cut=3", "eof=3", "error=3"):
        seen = []
        with raises(genai_errors.APIError):
            for chunk in client.models.generate_content_stream(model=u.model, contents=QUESTION, config=faulty(how)):
                seen.append(chunk)
        assert seen and not any(c.candidates and c.candidates[0].finish_reason for c in seen), (how, seen)


def recorded():
    for r in recordings():
        ask = faulty("replay=" + r.file, thinking_config=types.ThinkingConfig(include_thoughts=True))
        if r.calls:
            ask.tools = [types.Tool(function_declarations=[types.FunctionDeclaration(name=n) for n, _ in r.calls])]
            ask.automatic_function_calling = types.AutomaticFunctionCallingConfig(disable=True)
        if r.streamed:
            parts, finish, used = gathered(client.models.generate_content_stream(model=r.upstream.model, contents=QUESTION, config=ask))
        else:
            reply = client.models.generate_content(model=r.upstream.model, contents=QUESTION, config=ask)
            parts, finish, used = gathered([reply])
        text = "".join(p.text or "" for p in parts if not p.thought)
        calls = [(p.function_call.name, p.function_call.args or {}) for p in parts if p.function_call]
        expect(r, text, calls, used.prompt_token_count, (used.candidates_token_count or 0) + (used.thoughts_token_count or 0))
        want = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}.get(r.stop, "STOP")
        assert finish and (finish.value == want or "refusal" in r.file), (r.file, finish)


if __name__ == "__main__":
    run(
        models, unknown_model, recorded,
        generate, stream, limit, image, tools, tools_stream, automatic, forced, structured, chat, count_tokens, embed,
        errors, cut,
    )  # fmt: skip
