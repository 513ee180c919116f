"""Every Python SDK but openai's chat (see sdk.py), talking through the gateway to a real model server that speaks chat
completions alone. The model is small: it is asked for a few words, and nothing depends on which."""

import os

import anthropic
import openai
from agents import Agent as OpenAIAgent
from agents import ModelSettings, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from google import genai
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from checks import URL, run

MODEL = os.environ["MODEL"]
HELLO = "Say hello"
WORDS = 16  # the least that Responses takes
MORE = dict(api_key="unused", max_retries=0, timeout=60)

set_tracing_disabled(True)
to_anthropic = anthropic.Anthropic(base_url=URL, **MORE)
to_openai = openai.OpenAI(base_url=URL + "/v1", **MORE)
to_google = genai.Client(api_key="unused", http_options={"base_url": URL, "timeout": 60_000, "retry_options": {"attempts": 1}})


def messages():
    reply = to_anthropic.messages.create(model=MODEL, max_tokens=WORDS, messages=[{"role": "user", "content": HELLO}])
    assert reply.content[0].text and reply.stop_reason in ("end_turn", "max_tokens"), reply
    assert reply.usage.input_tokens > 0 and reply.usage.output_tokens > 0, reply


def messages_stream():
    with to_anthropic.messages.stream(model=MODEL, max_tokens=WORDS, messages=[{"role": "user", "content": HELLO}]) as s:
        pieces = list(s.text_stream)
        reply = s.get_final_message()
    assert len(pieces) > 1 and reply.content[0].text == "".join(pieces), (pieces, reply)
    assert reply.usage.output_tokens > 0, reply


def responses():
    reply = to_openai.responses.create(model=MODEL, input=HELLO, max_output_tokens=WORDS)
    assert reply.output_text and reply.status in ("completed", "incomplete") and reply.usage.output_tokens > 0, reply


def responses_stream():
    pieces, last = [], None
    for event in to_openai.responses.create(model=MODEL, input=HELLO, max_output_tokens=WORDS, stream=True):
        if event.type == "response.output_text.delta":
            pieces.append(event.delta)
        last = event
    assert len(pieces) > 1 and last.type in ("response.completed", "response.incomplete"), (pieces, last)
    assert last.response.output_text == "".join(pieces), last


def gemini():
    reply = to_google.models.generate_content(model=MODEL, contents=HELLO, config={"max_output_tokens": WORDS})
    assert reply.text and reply.candidates[0].finish_reason and reply.usage_metadata.candidates_token_count > 0, reply


def gemini_stream():
    chunks = list(to_google.models.generate_content_stream(model=MODEL, contents=HELLO, config={"max_output_tokens": WORDS}))
    assert len(chunks) > 1 and "".join(c.text or "" for c in chunks), chunks
    assert chunks[-1].candidates[0].finish_reason and chunks[-1].usage_metadata, chunks


def langchain_chat():
    talk(ChatOpenAI(model=MODEL, base_url=URL + "/v1", max_completion_tokens=WORDS, stream_usage=True, **MORE))


def langchain_responses():
    talk(ChatOpenAI(model=MODEL, base_url=URL + "/v1", max_completion_tokens=WORDS, use_responses_api=True, **MORE))


def langchain_messages():
    talk(ChatAnthropic(model=MODEL, base_url=URL, max_tokens=WORDS, api_key="unused", max_retries=0, default_request_timeout=60))


def talk(model):
    assert model.invoke(HELLO).text
    chunks = list(model.stream(HELLO))
    assert len(chunks) > 1 and "".join(c.text for c in chunks), chunks


async def pydantic_ai():
    provider = OpenAIProvider(openai_client=openai.AsyncOpenAI(base_url=URL + "/v1", **MORE))
    agent = Agent(OpenAIChatModel(MODEL, provider=provider), model_settings={"max_tokens": WORDS})
    async with agent.run_stream(HELLO) as result:
        assert "".join([piece async for piece in result.stream_text(delta=True)])


async def openai_agents():
    client = openai.AsyncOpenAI(base_url=URL + "/v1", **MORE)
    model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)  # over Responses, it takes an answer at its limit for a failure
    agent = OpenAIAgent(name="Hello", model=model, model_settings=ModelSettings(max_tokens=WORDS))
    result = await Runner.run(agent, HELLO)
    assert result.final_output, result


if __name__ == "__main__":
    run(
        messages, messages_stream, responses, responses_stream, gemini, gemini_stream,
        langchain_chat, langchain_responses, langchain_messages, pydantic_ai, openai_agents,
    )  # fmt: skip
