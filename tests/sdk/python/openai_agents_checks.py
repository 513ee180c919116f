"""The OpenAI Agents SDK in front of every upstream dialect: over Responses and over chat completions."""

from typing import Literal

import openai
import pydantic
from agents import (
    Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, handoff, set_tracing_disabled,
)  # fmt: skip

from checks import *

set_tracing_disabled(True)


class Report(pydantic.BaseModel):
    city: str
    degrees: int
    sky: list[Literal["sun", "rain"]]


@function_tool
def get_weather(city: Literal["Paris", "Rome"]) -> str:
    """Get the weather of a city."""
    return WEATHER


client = openai.AsyncOpenAI(base_url=URL + "/v1", api_key="unused", max_retries=0, timeout=30)


def model(kind, u):
    return kind(model=u.model, openai_client=client)


def agent(kind, u, **more):
    return Agent(name="Weather", instructions=INSTRUCTIONS, model=model(kind, u), **more)


def tools(kind):
    async def check(u):
        result = await Runner.run(agent(kind, u, tools=[get_weather]), QUESTION)
        weather(result.final_output)
        conversation = result.to_input_list() + [{"role": "user", "content": "And now?"}]
        again = await Runner.run(agent(kind, u, tools=[get_weather]), conversation)
        weather(again.final_output)
        assert len(again.to_input_list()) > len(conversation) + 2, again.to_input_list()

    return check


def stream(kind):
    async def check(u):
        result = Runner.run_streamed(agent(kind, u, tools=[get_weather]), QUESTION)
        kinds = [e.name async for e in result.stream_events() if e.type == "run_item_stream_event"]
        assert kinds.count("tool_called") == 1 and kinds.count("tool_output") == 1 and "message_output_created" in kinds, kinds
        weather(result.final_output)

    return check


def output(kind):
    async def check(u):
        result = await Runner.run(agent(kind, u, output_type=Report), QUESTION)
        assert isinstance(result.final_output, Report), result

    return check


def handed_off(kind):
    """A first agent gives the conversation to a second one, by a tool without arguments."""

    async def check(u):
        second = agent(kind, u, tools=[get_weather])
        first = Agent(name="Door", instructions="Hand over.", model=model(kind, u), handoffs=[handoff(second)])
        result = await Runner.run(first, QUESTION)
        assert result.last_agent is second, result

    return check


def errors(kind):
    async def check(u):
        limited = ModelSettings(extra_headers=fault("status=429"))
        with raises(openai.RateLimitError):
            await Runner.run(agent(kind, u, model_settings=limited), QUESTION)
        cut = ModelSettings(extra_headers=fault("cut=3"))
        with raises(openai.APIError):
            result = Runner.run_streamed(agent(kind, u, model_settings=cut), QUESTION)
            async for _ in result.stream_events():
                pass

    return check


if __name__ == "__main__":
    run(*[
        named(f"{dialect}_{kind.__name__}", kind(cls))
        for dialect, cls in [("responses", OpenAIResponsesModel), ("chat", OpenAIChatCompletionsModel)]
        for kind in [tools, stream, output, handed_off, errors]
    ])  # fmt: skip
