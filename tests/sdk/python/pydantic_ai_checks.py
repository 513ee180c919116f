"""pydantic-ai agents in front of every upstream dialect, over each of its models: OpenAI chat and Responses, Anthropic, Google."""

from typing import Literal

import anthropic
import openai
import pydantic
from google import genai
from pydantic_ai import Agent, ModelHTTPError
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.output import NativeOutput
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from checks import *


class Report(pydantic.BaseModel):
    city: str
    degrees: int
    sky: list[Literal["sun", "rain"]]


ONCE = dict(api_key="unused", max_retries=0, timeout=30)
to_openai = OpenAIProvider(openai_client=openai.AsyncOpenAI(base_url=URL + "/v1", **ONCE))
to_anthropic = AnthropicProvider(anthropic_client=anthropic.AsyncAnthropic(base_url=URL, **ONCE))
to_google = GoogleProvider(
    client=genai.Client(
        api_key="unused",
        http_options={"base_url": URL, "timeout": 30_000, "retry_options": {"attempts": 1}},
    )
)


def over_chat(u):
    return OpenAIChatModel(u.model, provider=to_openai)


def over_responses(u):
    return OpenAIResponsesModel(u.model, provider=to_openai)


def over_messages(u):
    return AnthropicModel(u.model, provider=to_anthropic)


def over_gemini(u):
    return GoogleModel(u.model, provider=to_google)


def agent(model, **more):
    """An agent with one tool, and the cities it was asked for."""
    asked = []
    it = Agent(model, instructions=INSTRUCTIONS, **more)

    @it.tool_plain
    def get_weather(city: Literal["Paris", "Rome"]) -> str:
        """Get the weather of a city."""
        asked.append(city)
        return WEATHER

    return it, asked


def text(make):
    async def check(u):
        result = await Agent(make(u), instructions=INSTRUCTIONS).run(QUESTION)
        assert QUESTION in result.output, result
        usage = result.usage
        assert usage.input_tokens > 0 and usage.output_tokens > 0, usage

    return check


def tools(make):
    async def check(u):
        it, asked = agent(make(u))
        result = await it.run(QUESTION)
        weather(result.output)
        again = await it.run("And what now?", message_history=result.all_messages())
        assert asked == [CITY, CITY], asked
        weather(again.output)

    return check


def stream(make):
    async def check(u):
        it, asked = agent(make(u))
        async with it.run_stream(QUESTION) as result:
            pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        assert len(pieces) > 3 and asked == [CITY], (pieces, asked)
        weather("".join(pieces))

    return check


def output(make):
    """The output as a tool that must be called, after the real tool."""

    async def check(u):
        result = await Agent(make(u), output_type=Report).run(QUESTION)
        assert isinstance(result.output, Report), result

    return check


def native(make):
    """The output by the model's own structured output."""

    async def check(u):
        result = await Agent(make(u), output_type=NativeOutput(Report)).run(QUESTION)
        assert isinstance(result.output, Report), result

    return check


def errors(make):
    async def check(u):
        it = Agent(make(u))
        with raises(ModelHTTPError) as e:
            await it.run(QUESTION, model_settings={"extra_headers": fault("status=429")})
        assert e.error.status_code == 429, e.error
        with raises(Exception) as e:
            async with it.run_stream(QUESTION, model_settings={"extra_headers": fault("cut=3")}) as result:
                async for _ in result.stream_text(debounce_by=None):
                    pass
        assert "did not" not in str(e.error), e.error

    return check


if __name__ == "__main__":
    run(*[
        named(f"{dialect}_{kind.__name__}", kind(make))
        for dialect, make in [
            ("chat", over_chat), ("responses", over_responses), ("messages", over_messages), ("gemini", over_gemini),
        ]
        for kind in [text, tools, stream, output, native, errors]
        if (make, kind) != (over_messages, native)  # pydantic-ai knows by their names which Claude models can, and these have a prefix
    ])  # fmt: skip
