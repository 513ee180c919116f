"""The official SDKs as the referee's callers: they ask all that $ASKS says, all at once, and tell what their user gets.

$ASKS is a file with a list of {"name", "url", "client", "model", "stream"}. For each, one line of JSON is printed: the name, and the
answer or the error that the SDK raised.
"""

import asyncio
import json
import os
import time

import anthropic
import openai

HI = [{"role": "user", "content": "hi"}]


async def chat(client, got, model, stream):
    if not stream:
        reply = await client.chat.completions.create(model=model, messages=HI)
        got |= {"text": reply.choices[0].message.content, "finish": reply.choices[0].finish_reason, "model": reply.model}
        got |= {"in": reply.usage.prompt_tokens, "out": reply.usage.completion_tokens}
        return
    got["text"] = ""
    async for chunk in await client.chat.completions.create(
        model=model, messages=HI, stream=True, stream_options={"include_usage": True}
    ):
        got["model"] = chunk.model
        for choice in chunk.choices:
            got["text"] += choice.delta.content or ""
            got["finish"] = choice.finish_reason or got.get("finish", "")
        if chunk.usage:
            got |= {"in": chunk.usage.prompt_tokens, "out": chunk.usage.completion_tokens}


async def messages(client, got, model, stream):
    ask = {"model": model, "max_tokens": 500, "messages": HI}
    if stream:
        got["text"] = ""
        async with client.messages.stream(**ask) as s:
            async for piece in s.text_stream:
                got["text"] += piece
            reply = await s.get_final_message()
    else:
        reply = await client.messages.create(**ask)
    got |= {"text": reply.content[0].text, "finish": reply.stop_reason, "model": reply.model}
    got |= {"in": reply.usage.input_tokens, "out": reply.usage.output_tokens}


async def responses(client, got, model, stream):
    ask = {"model": model, "input": "hi", "store": False}
    if not stream:
        reply = await client.responses.create(**ask)
    else:
        reply, got["text"] = None, ""
        async for event in await client.responses.create(**ask, stream=True):
            if event.type == "response.output_text.delta":
                got["text"] += event.delta
            elif event.type == "response.completed":
                reply = event.response
            elif event.type == "response.failed":  # the SDK hands this one to its user
                got["error"] = {"kind": event.type, "code": event.response.error.code, "message": event.response.error.message}
                return
    got |= {"text": reply.output_text, "finish": reply.status, "model": reply.model}
    got |= {"in": reply.usage.input_tokens, "out": reply.usage.output_tokens}


async def ask(clients, a):
    got, start = {"name": a["name"], "status": 200}, time.monotonic()
    try:
        await {"chat": chat, "messages": messages, "responses": responses}[a["client"]](
            clients(a["url"], a["client"] == "messages"), got, a["model"], a["stream"]
        )
    except (openai.APIError, anthropic.APIError) as e:
        got["status"] = getattr(e, "status_code", 200)
        got["error"] = {"kind": type(e).__name__, "code": str(getattr(e, "code", "") or ""), "message": e.message}
    except Exception as e:  # what no user of the SDK expects
        got["breach"] = f"{type(e).__name__}: {e}"
    print(json.dumps(got | {"seconds": time.monotonic() - start}), flush=True)


async def main():
    with open(os.environ["ASKS"]) as f:
        asks = json.load(f)
    made = {}

    def clients(url, of_anthropic):
        if (url, of_anthropic) not in made:
            made[url, of_anthropic] = (
                anthropic.AsyncAnthropic(base_url=url, api_key="unused", max_retries=0, timeout=60)
                if of_anthropic
                else openai.AsyncOpenAI(base_url=url + "/v1", api_key="unused", max_retries=0, timeout=60)
            )
        return made[url, of_anthropic]

    await asyncio.gather(*(ask(clients, a) for a in asks))


asyncio.run(main())
