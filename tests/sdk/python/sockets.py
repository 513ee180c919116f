"""WebSockets through the gateway's passthrough: the websockets library on both sides, and the openai SDK's realtime client.

The server is a provider's realtime API, played in a thread of this process. It echoes, and does what a path or message asks.
"""

import asyncio
import contextlib
import http
import json
import logging
import os
import threading

import openai
import websockets
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

from checks import URL, raises, run

PORT = int(os.environ["ECHO_PORT"])
BASE = "ws" + URL.removeprefix("http") + "/passthrough/up/v1/"
KEY = {"Authorization": "Bearer dev-key"}
EVERY_BYTE = bytes(range(256))
seen = {}  # what the server saw, by the name that the path says
closed = {}  # the close codes that it was sent


async def echo(socket):
    name = socket.request.path.rpartition("=")[2]
    seen[name] = socket.request.headers
    if socket.request.path.startswith("/v1/realtime"):
        await socket.send(json.dumps({"type": "session.created", "event_id": "e1", "session": {"type": "realtime", "model": "m"}}))
    try:
        async for message in socket:
            if message == "close":
                await socket.close(4002, "enough")
            elif message == "abort":
                socket.transport.abort()
            elif message == "ping":
                await (await socket.ping(b"from the server"))  # answered by the client's library
                await socket.send("ponged")
            elif isinstance(message, str) and message.startswith("{"):
                await socket.send(json.dumps({"type": "response.output_text.done", "event_id": "e2", "text": json.loads(message)["type"]}))
            else:
                await socket.send(message)
    finally:
        closed[name] = (socket.close_code, socket.close_reason)


def handshake(connection, request):
    if request.headers.get("Authorization") != "Bearer house-key":
        return connection.respond(http.HTTPStatus.UNAUTHORIZED, "whose key is this?")
    if request.path == "/v1/forbidden":
        return connection.respond(http.HTTPStatus.FORBIDDEN, "not here")
    return None


def choose(_, offered):
    return "realtime" if "realtime" in offered else None


def provider():
    """Serves until the process ends."""
    async def forever(ready):
        async with serve(echo, "127.0.0.1", PORT, process_request=handshake, select_subprotocol=choose, max_size=1 << 25):
            ready.set()
            await asyncio.get_running_loop().create_future()

    ready = threading.Event()
    threading.Thread(target=lambda: asyncio.run(forever(ready)), daemon=True).start()
    ready.wait(10)


@contextlib.asynccontextmanager
async def dial(name, **options):
    async with asyncio.timeout(10):
        async with connect(BASE + "echo?name=" + name, additional_headers=KEY, max_size=1 << 25, **options) as socket:
            yield socket


async def returns(socket, message):
    await socket.send(message)
    got = await socket.recv()
    assert got == message, (type(got), len(got))


async def text():
    async with dial("text") as socket:
        await returns(socket, "hello, wörld \N{SNOWMAN}")
        await returns(socket, "")
    headers = seen["text"]
    assert headers["Authorization"] == "Bearer house-key" and "dev-key" not in str(headers), headers


async def binary():
    async with dial("binary") as socket:
        await returns(socket, EVERY_BYTE)


async def large():
    async with dial("large", compression=None) as socket:
        await returns(socket, EVERY_BYTE * (1 << 16))  # 16 MiB


async def fragments():
    async with dial("fragments") as socket:
        await socket.send(part for part in [b"one ", b"", b"two ", b"three"])
        assert await socket.recv() == b"one two three"


async def ping():
    async with dial("ping", ping_interval=None) as socket:
        took = await (await socket.ping(b"payload"))
        assert took >= 0
        await returns(socket, "still here")


async def ping_of_server():
    async with dial("ping_of_server", ping_interval=None) as socket:
        await socket.send("ping")
        assert await socket.recv() == "ponged"


async def compressed():
    """What client and server agree on is theirs: the gateway does not look into frames."""
    async with dial("compressed", compression="deflate") as socket:
        assert [e.name for e in socket.protocol.extensions] == ["permessage-deflate"], socket.protocol.extensions
        await returns(socket, "again " * 10_000)


async def close_of_client():
    async with dial("close_of_client") as socket:
        await returns(socket, "hello")
        await socket.close(4001, "bye")
        assert socket.close_code == 4001, socket.close_code
    async with asyncio.timeout(5):
        while "close_of_client" not in closed:
            await asyncio.sleep(0.01)
    assert closed["close_of_client"] == (4001, "bye"), closed


async def close_of_server():
    async with dial("close_of_server") as socket:
        await socket.send("close")
        with raises(websockets.ConnectionClosedError) as e:
            await socket.recv()
        assert (e.error.rcvd.code, e.error.rcvd.reason) == (4002, "enough"), e.error


async def lost():
    """A provider that is gone without a word is no proper close."""
    async with dial("lost") as socket:
        await socket.send("abort")
        with raises(websockets.ConnectionClosedError) as e:
            await socket.recv()
        assert e.error.rcvd is None, e.error


async def refused():
    with raises(websockets.InvalidStatus) as e:
        await connect(BASE + "forbidden", additional_headers=KEY)
    assert e.error.response.status_code == 403 and e.error.response.body == b"not here", e.error.response


async def unknown_key():
    with raises(websockets.InvalidStatus) as e:
        await connect(BASE + "echo", additional_headers={"Authorization": "Bearer nobody"})
    assert e.error.response.status_code == 401 and b"invalid_api_key" in e.error.response.body, e.error.response


async def subprotocol():
    """Browsers can set no header: their key comes as a subprotocol, which the provider does not see."""
    async with asyncio.timeout(10):
        async with connect(BASE + "echo?name=subprotocol", subprotocols=["realtime", "openai-insecure-api-key.dev-key"]) as socket:
            assert socket.subprotocol == "realtime", socket.subprotocol
            await returns(socket, "hello")
    assert "dev-key" not in str(seen["subprotocol"]), seen["subprotocol"]


async def many():
    async def one(n):
        async with dial(f"many{n}") as socket:
            for i in range(20):
                await returns(socket, f"{n} {i}")

    await asyncio.gather(*(one(n) for n in range(50)))


async def realtime():
    """The SDK's own client, with the gateway's passthrough as its base URL."""
    client = openai.AsyncOpenAI(base_url=URL + "/passthrough/up/v1", api_key="dev-key")
    async with client.realtime.connect(model="m") as connection:
        assert (await connection.recv()).type == "session.created"
        await connection.response.create()
        event = await connection.recv()
        assert event.type == "response.output_text.done" and event.text == "response.create", event


logging.getLogger("websockets").setLevel(logging.CRITICAL)  # what it says of lost connections would mix with the results
provider()
run(text, binary, large, fragments, ping, ping_of_server, compressed, close_of_client, close_of_server, lost, refused, unknown_key,
    subprotocol, many, realtime)
