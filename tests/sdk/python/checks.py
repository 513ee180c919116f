"""What the check scripts of this folder share: where the gateway is, what is behind it, and how results are printed.

A check is a function of no argument, or of an upstream, which is then run for each of $UPSTREAMS. Each run prints one
line of JSON, {"check", "ms", "error"}, with "upstream/check" as the name of the latter; the Go suite that starts the script
turns them into tests and knows which there must be.
"""

import asyncio
import dataclasses
import inspect
import json
import os
import time
import traceback

URL = os.environ["EVERGATE_URL"]

CITY = "Paris"
WEATHER = "12 degrees, rain"  # what the tool answers
INSTRUCTIONS = "You are a weather service. Use your tools."
QUESTION = "What is the weather in Paris?"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "A city", "enum": ["Paris", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}
DESCRIPTION = "Get the weather of a city"
NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}

# One transparent pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


@dataclasses.dataclass
class Upstream:
    name: str  # of the provider, which is also that of the dialect it speaks
    model: str  # to ask the gateway for
    embedding_model: str = ""


@dataclasses.dataclass
class Recording:
    """A provider's recorded answer and what any client must understand of it."""

    upstream: Upstream
    file: str
    text: str = ""  # contained in it
    calls: list = dataclasses.field(default_factory=list)  # [name, arguments]
    input: int = 0  # tokens, those from a cache included
    output: int = 0  # tokens, thoughts included
    stop: str = ""  # in the words of OpenAI's chat completions
    thinks: bool = False

    @property
    def streamed(self):
        return not self.file.endswith(".json")

    @property
    def headers(self):
        return fault("replay=" + self.file)


UPSTREAMS = [Upstream(**u) for u in json.loads(os.environ.get("UPSTREAMS", "[]"))]


def recordings():
    by_name = {u.name: u for u in UPSTREAMS}
    with open(os.environ["RECORDINGS"]) as f:
        return [Recording(by_name[r.pop("upstream")], **r) for r in json.load(f)]


def fault(words):
    """The header that tells a simulated provider to misbehave."""
    return {"x-mock-fault": words}


def weather(text):
    """The final answer of the scripted conversation quotes the tool."""
    assert WEATHER in text, text


def expect(recording, text, calls, input, output, stop=None):
    assert recording.text in text, (recording.file, text)
    assert [[n, a if isinstance(a, dict) else json.loads(a)] for n, a in calls] == recording.calls, (recording.file, calls)
    assert (input, output) == (recording.input, recording.output), (recording.file, input, output)
    assert stop in (None, recording.stop), (recording.file, stop)


class raises:
    """`with raises(openai.RateLimitError) as e:` like pytest's; e.error is the error."""

    def __init__(self, kind):
        self.kind, self.error = kind, None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        assert error is not None, f"no {self.kind.__name__} was raised"
        self.error = error
        return isinstance(error, self.kind)


def named(name, check):
    """Gives a check that was made by a function its name."""
    check.__name__ = name
    return check


def run(*checks):
    with asyncio.Runner() as loop:
        for check in checks:
            if not inspect.signature(check).parameters:
                report(loop, check.__name__, check)
                continue
            for upstream in UPSTREAMS:
                report(loop, f"{upstream.name}/{check.__name__}", check, upstream)


def report(loop, name, check, *args):
    start, error = time.monotonic(), None
    try:
        result = check(*args)
        if inspect.isawaitable(result):
            loop.run(result)
    except Exception:  # noqa: BLE001 whatever it is, it is the check's result
        error = traceback.format_exc(limit=-4)
    print(json.dumps({"check": name, "ms": round((time.monotonic() - start) * 1000), "error": error}), flush=True)
