"""The openai SDK for what is beside talk and vectors: pictures, sound, moderation, reranking, files. The first of two upstreams is down."""

import base64
import io
import os
import pathlib
import tempfile

import openai

from checks import PNG, URL, raises, run

MODEL = os.environ["MODEL"]  # a virtual model with two targets, of which the first always fails
SOUND = bytes(range(256)) * 4096  # what the upstream speaks
client = openai.OpenAI(base_url=URL + "/v1", api_key="unused", max_retries=0, timeout=60)


def recording():
    return ("odd name.wav", io.BytesIO(b"RIFF\r\n--\x00\xff" + SOUND), "audio/wav")


def images():
    raw = client.images.with_raw_response.generate(model=MODEL, prompt="a pixel", n=1)
    assert raw.parse().data[0].b64_json == PNG, raw.text
    assert raw.headers["x-evergate-trail"] == "down/m=503, up/m=200", dict(raw.headers)


def images_stream():
    events = list(client.images.generate(model=MODEL, prompt="a pixel", stream=True, partial_images=1))
    assert [e.type for e in events] == ["image_generation.partial_image", "image_generation.completed"], events
    assert events[-1].b64_json == PNG and events[-1].usage.output_tokens == 5, events


def image_edits():
    picture = ("pixel.png", io.BytesIO(base64.b64decode(PNG)), "image/png")
    reply = client.images.edit(model=MODEL, prompt="a red pixel", image=picture)
    assert reply.data[0].b64_json == PNG, reply


def speech():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "hello.mp3"
        with client.audio.speech.with_streaming_response.create(model=MODEL, voice="alloy", input="Hello") as reply:
            assert reply.headers["content-type"] == "audio/mpeg", dict(reply.headers)
            reply.stream_to_file(path)
        assert path.read_bytes() == SOUND, path.stat().st_size


def speech_cut():
    """Sound that breaks off is an error, never a short file."""
    with raises(Exception):
        client.audio.speech.create(model=MODEL, voice="alloy", input="Hello", instructions="break off").read()


def transcriptions():
    reply = client.audio.transcriptions.create(model=MODEL, file=recording(), language="de")
    assert reply.text == f"m de odd name.wav {len(SOUND) + 10}", reply


def transcriptions_text():
    reply = client.audio.transcriptions.create(model=MODEL, file=recording(), response_format="text")
    assert reply.strip() == f"m  odd name.wav {len(SOUND) + 10}", reply


def transcriptions_stream():
    events = list(client.audio.transcriptions.create(model=MODEL, file=recording(), stream=True))
    assert [e.type for e in events] == ["transcript.text.delta", "transcript.text.done"], events
    assert events[-1].text == f"m  odd name.wav {len(SOUND) + 10}", events


def translations():
    reply = client.audio.translations.create(model=MODEL, file=recording())
    assert reply.text == f"m  odd name.wav {len(SOUND) + 10}", reply


def moderations():
    reply = client.moderations.create(model=MODEL, input="hello")
    assert reply.results[0].flagged is False, reply


def moderations_default():
    reply = client.moderations.create(input="hello")
    assert reply.results[0].flagged is False, reply


def rerank():
    """No SDK of OpenAI's has this route: it is asked as Cohere and Jina have it."""
    reply = client.post("/rerank", body={"model": MODEL, "query": "weather", "documents": ["sums", "rain"]}, cast_to=dict)
    assert [r["index"] for r in reply["results"]] == [1, 0] and reply["meta"]["billed_units"]["search_units"] == 1, reply


def missing():
    """A route that no provider has is a clear refusal."""
    with raises(openai.NotFoundError) as e:
        client.audio.translations.create(model="none/m", file=recording())
    assert "/audio/translations" in e.error.message, e.error


def at_up():
    """Files and batches are at one provider, which the client names."""
    return client.with_options(default_headers={"x-evergate-provider": "up"})


def keep(up):
    return up.files.create(file=("in.jsonl", io.BytesIO(SOUND), "application/jsonl"), purpose="batch")


def files():
    with raises(openai.BadRequestError) as e:
        client.files.list()
    assert "x-evergate-provider" in e.error.message, e.error
    up = at_up()
    kept = keep(up)
    assert kept.bytes == len(SOUND), kept
    assert [f.id for f in up.files.list(purpose="batch")] == [kept.id]
    assert up.files.retrieve(kept.id).filename == "in.jsonl"
    assert up.files.content(kept.id).read() == SOUND
    assert up.files.delete(kept.id).deleted


def batches():
    up = at_up()
    kept = keep(up)
    batch = up.batches.create(input_file_id=kept.id, endpoint="/v1/chat/completions", completion_window="24h")
    assert batch.input_file_id == kept.id, batch
    assert up.batches.retrieve(batch.id).status == "validating"
    assert up.batches.cancel(batch.id).status == "cancelling"
    assert [(b.id, b.status) for b in up.batches.list(limit=3)] == [(batch.id, "cancelling")]


run(images, images_stream, image_edits, speech, speech_cut, transcriptions, transcriptions_text, transcriptions_stream, translations,
    moderations, moderations_default, rerank, missing, files, batches)
