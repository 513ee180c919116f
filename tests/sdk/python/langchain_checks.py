"""LangChain's OpenAI and Anthropic models in front of every upstream dialect."""

from typing import Literal

import anthropic
import openai
import pydantic
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

from checks import *


class Report(pydantic.BaseModel):
    """A weather report."""

    city: str
    degrees: int
    sky: list[Literal["sun", "rain"]]


@tool
def get_weather(city: Literal["Paris", "Rome"]) -> str:
    """Get the weather of a city."""
    return WEATHER


def over_chat(u, **more):
    return ChatOpenAI(model=u.model, base_url=URL + "/v1", api_key="unused", max_retries=0, timeout=30, **more)


def over_responses(u, **more):
    return over_chat(u, use_responses_api=True, **more)


def over_messages(u, **more):
    return ChatAnthropic(
        model=u.model, base_url=URL, api_key="unused", max_retries=0, default_request_timeout=30, max_tokens=2048, **more
    )


ASK = [SystemMessage(INSTRUCTIONS), HumanMessage(QUESTION)]


def gathered(chunks):
    whole = None
    for chunk in chunks:
        whole = chunk if whole is None else whole + chunk
    return whole


def plain(make):
    def check(u):
        reply = make(u).invoke(ASK)
        assert isinstance(reply, AIMessage) and QUESTION in reply.text, reply
        assert reply.usage_metadata["input_tokens"] > 0 and reply.usage_metadata["output_tokens"] > 0, reply

    return check


def streamed(make, **more):
    def check(u):
        chunks = list(make(u, **more).stream(ASK))
        whole = gathered(chunks)
        assert len(chunks) > 3 and QUESTION in whole.text, whole
        assert whole.usage_metadata["output_tokens"] > 0, whole

    return check


def tools(make, **more):
    def check(u):
        model = make(u).bind_tools([get_weather])
        conversation = list(ASK)
        first = model.invoke(conversation)
        assert [(c["name"], c["args"]) for c in first.tool_calls] == [("get_weather", {"city": CITY})], first
        conversation += [first] + [get_weather.invoke(c) for c in first.tool_calls]
        assert isinstance(conversation[-1], ToolMessage)
        weather(model.invoke(conversation).text)
        # And the same streamed, where the pieces of the call are put together.
        first = gathered((make(u, **more).bind_tools([get_weather])).stream(ASK))
        assert [(c["name"], c["args"]) for c in first.tool_calls] == [("get_weather", {"city": CITY})], first
        conversation = ASK + [first] + [get_weather.invoke(c) for c in first.tool_calls]
        weather(gathered(model.stream(conversation)).text)

    return check


def structured(make, method):
    def check(u):
        report = make(u).with_structured_output(Report, method=method).invoke(ASK)
        assert isinstance(report, Report), report

    return check


def errors(make, sdk):
    def check(u):
        with raises(sdk.RateLimitError) as e:
            make(u, default_headers=fault("status=429; retry-after=7")).invoke(ASK)
        assert e.error.response.headers["retry-after"] == "7"
        with raises(sdk.BadRequestError):
            make(u, default_headers=fault("status=400")).invoke(ASK)
        seen = []
        with raises(sdk.APIError):
            for chunk in make(u, default_headers=fault("cut=3")).stream(ASK):
                seen.append(chunk)
        assert seen

    return check


def embeddings(u):
    if not u.embedding_model:
        return
    model = OpenAIEmbeddings(
        model=u.embedding_model, base_url=URL + "/v1", api_key="unused", max_retries=0, check_embedding_ctx_length=False
    )
    vectors = model.embed_documents(["hello", "world"])
    assert len(vectors) == 2 and len(vectors[0]) > 2, vectors


if __name__ == "__main__":
    run(
        *[
            named(f"{dialect}_{check.__qualname__.split('.')[0]}", check)
            for dialect, make, sdk, usage, method in [
                ("chat", over_chat, openai, {"stream_usage": True}, "json_schema"),
                ("responses", over_responses, openai, {}, "json_schema"),
                ("messages", over_messages, anthropic, {}, "function_calling"),
            ]
            for check in [
                plain(make), streamed(make, **usage), tools(make), structured(make, method), errors(make, sdk),
            ]
        ],
        named("messages_structured_schema", structured(over_messages, "json_schema")),
        embeddings,
    )  # fmt: skip
