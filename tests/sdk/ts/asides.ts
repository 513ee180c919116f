// The openai SDK for what is beside talk and vectors: pictures, sound, moderation, reranking, files. The first of two
// upstreams is down. asides.py has the same checks.

import assert from "node:assert/strict";
import OpenAI, { toFile } from "openai";
import { PNG, URL, env, run, thrown } from "./checks.js";

const MODEL = env("MODEL"); // a virtual model with two targets, of which the first always fails
const SOUND = Buffer.alloc(256 * 4096, Buffer.from(Array.from({ length: 256 }, (_, i) => i))); // what the upstream speaks
const client = new OpenAI({ baseURL: URL + "/v1", apiKey: "unused", maxRetries: 0, timeout: 60_000 });

function recording() {
  return toFile(Buffer.concat([Buffer.from("RIFF\r\n--\x00\xff", "latin1"), SOUND]), "odd name.wav", { type: "audio/wav" });
}
const HEARD = SOUND.length + 10;

// Files and batches are at one provider, which the client names.
const up = client.withOptions({ defaultHeaders: { "x-evergate-provider": "up" } });

async function keep() {
  return up.files.create({ file: await toFile(SOUND, "in.jsonl", { type: "application/jsonl" }), purpose: "batch" });
}

async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const item of pages) out.push(item);
  return out;
}

await run({
  async images() {
    const { data, response } = await client.images.generate({ model: MODEL, prompt: "a pixel", n: 1 }).withResponse();
    assert.equal(data.data![0]!.b64_json, PNG);
    assert.equal(response.headers.get("x-evergate-trail"), "down/m=503, up/m=200");
  },

  async images_stream() {
    const events = await all(await client.images.generate({ model: MODEL, prompt: "a pixel", stream: true, partial_images: 1 }));
    assert.deepEqual(events.map((e) => e.type), ["image_generation.partial_image", "image_generation.completed"]);
    const last = events.at(-1)!;
    assert.ok(last.type === "image_generation.completed" && last.b64_json === PNG && last.usage.output_tokens === 5, JSON.stringify(last));
  },

  async image_edits() {
    const image = await toFile(Buffer.from(PNG, "base64"), "pixel.png", { type: "image/png" });
    const reply = await client.images.edit({ model: MODEL, prompt: "a red pixel", image });
    assert.equal(reply.data![0]!.b64_json, PNG);
  },

  async speech() {
    const reply = await client.audio.speech.create({ model: MODEL, voice: "alloy", input: "Hello" });
    assert.equal(reply.headers.get("content-type"), "audio/mpeg");
    assert.ok(Buffer.from(await reply.arrayBuffer()).equals(SOUND));
  },

  // Sound that breaks off is an error, never a short file.
  async speech_cut() {
    await thrown(Error, async () => {
      const reply = await client.audio.speech.create({ model: MODEL, voice: "alloy", input: "Hello", instructions: "break off" });
      await reply.arrayBuffer();
    });
  },

  async transcriptions() {
    const reply = await client.audio.transcriptions.create({ model: MODEL, file: await recording(), language: "de" });
    assert.equal(reply.text, `m de odd name.wav ${HEARD}`);
  },

  async transcriptions_text() {
    const reply: unknown = await client.audio.transcriptions.create({ model: MODEL, file: await recording(), response_format: "text" });
    assert.equal(String(reply).trim(), `m  odd name.wav ${HEARD}`);
  },

  async transcriptions_stream() {
    const events = await all(await client.audio.transcriptions.create({ model: MODEL, file: await recording(), stream: true }));
    assert.deepEqual(events.map((e) => e.type), ["transcript.text.delta", "transcript.text.done"]);
    const last = events.at(-1)!;
    assert.ok(last.type === "transcript.text.done" && last.text === `m  odd name.wav ${HEARD}`, JSON.stringify(last));
  },

  async translations() {
    const reply = await client.audio.translations.create({ model: MODEL, file: await recording() });
    assert.equal(reply.text, `m  odd name.wav ${HEARD}`);
  },

  async moderations() {
    assert.equal((await client.moderations.create({ model: MODEL, input: "hello" })).results[0]!.flagged, false);
  },

  async moderations_default() {
    assert.equal((await client.moderations.create({ input: "hello" })).results[0]!.flagged, false);
  },

  // No SDK of OpenAI's has this route: it is asked as Cohere and Jina have it.
  async rerank() {
    const reply = await fetch(URL + "/v1/rerank", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: MODEL, query: "weather", documents: ["sums", "rain"] }),
    });
    const order = (await reply.json()) as { results: { index: number }[]; meta: { billed_units: { search_units: number } } };
    assert.equal(reply.status, 200, JSON.stringify(order));
    assert.deepEqual(order.results.map((r) => r.index), [1, 0]);
    assert.equal(order.meta.billed_units.search_units, 1);
    assert.equal(reply.headers.get("x-evergate-trail"), "down/m=503, up/m=200");
  },

  // A route that no provider has is a clear refusal.
  async missing() {
    const e = await thrown(OpenAI.NotFoundError, async () =>
      client.audio.translations.create({ model: "none/m", file: await recording() }));
    assert.match(e.message, /\/audio\/translations/);
  },

  async files() {
    const e = await thrown(OpenAI.BadRequestError, () => all(client.files.list()));
    assert.match(e.message, /x-evergate-provider/);
    const kept = await keep();
    assert.equal(kept.bytes, SOUND.length);
    assert.deepEqual((await all(up.files.list({ purpose: "batch" }))).map((f) => f.id), [kept.id]);
    assert.equal((await up.files.retrieve(kept.id)).filename, "in.jsonl");
    const content = await up.files.content(kept.id);
    assert.ok(Buffer.from(await content.arrayBuffer()).equals(SOUND));
    assert.ok((await up.files.delete(kept.id)).deleted);
  },

  async batches() {
    const kept = await keep();
    const batch = await up.batches.create({ input_file_id: kept.id, endpoint: "/v1/chat/completions", completion_window: "24h" });
    assert.equal(batch.input_file_id, kept.id);
    assert.equal((await up.batches.retrieve(batch.id)).status, "validating");
    assert.equal((await up.batches.cancel(batch.id)).status, "cancelling");
    const listed = await all(up.batches.list({ limit: 3 }));
    assert.deepEqual(listed.map((b) => [b.id, b.status]), [[batch.id, "cancelling"]]);
  },
});
