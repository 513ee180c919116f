// The openai SDK, talking through the gateway to model servers of its own dialect.

import assert from "node:assert/strict";
import OpenAI from "openai";
import { URL, env, run, thrown } from "./checks.js";

const MODEL = env("MODEL"); // a virtual model with two targets
const client = new OpenAI({ baseURL: URL + "/v1", apiKey: "unused", maxRetries: 0, timeout: 60_000 });

type Messages = OpenAI.Chat.Completions.ChatCompletionMessageParam[];
const HELLO: Messages = [{ role: "user", content: "Say hello" }];
const WEATHER: Messages = [{ role: "user", content: "What is the weather in Paris?" }];
const CALL = {
  tools: [
    {
      type: "function" as const,
      function: {
        name: "get_weather",
        description: "Get the weather",
        parameters: {
          type: "object",
          properties: { city: { type: "string", enum: ["Paris", "Rome"] } },
          required: ["city"],
        },
      },
    },
  ],
  tool_choice: "required" as const,
  max_tokens: 64,
  temperature: 0,
  stop: ["</tool_call>"],
};

await run({
  async models() {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert.ok(ids.includes(MODEL), ids.join());
    assert.equal((await client.models.retrieve(MODEL)).id, MODEL);
  },

  async chat() {
    const reply = await client.chat.completions.create({ model: MODEL, messages: HELLO, max_tokens: 16 });
    const choice = reply.choices[0]!;
    assert.ok(choice.message.content, JSON.stringify(reply));
    assert.ok(["stop", "length"].includes(choice.finish_reason), JSON.stringify(reply));
    assert.ok(reply.usage!.completion_tokens > 0, JSON.stringify(reply));
  },

  async headers() {
    const { data, response } = await client.chat.completions
      .create({ model: MODEL, messages: HELLO, max_tokens: 4 })
      .withResponse();
    for (const name of ["x-request-id", "x-evergate-provider", "x-evergate-model", "x-evergate-attempts", "x-evergate-trail"])
      assert.ok(response.headers.get(name), name);
    assert.ok(data.choices.length);
  },

  async stream() {
    let text = "", pieces = 0, finish: string | null = null, tokens = 0;
    const stream = await client.chat.completions.create({
      model: MODEL, messages: HELLO, max_tokens: 16, stream: true, stream_options: { include_usage: true },
    });
    for await (const chunk of stream) {
      tokens = chunk.usage?.completion_tokens ?? tokens;
      for (const choice of chunk.choices) {
        text += choice.delta.content ?? "";
        pieces++;
        finish = choice.finish_reason ?? finish;
      }
    }
    assert.ok(text && pieces > 2, text);
    assert.ok(finish === "stop" || finish === "length", String(finish));
    assert.ok(tokens > 0);
  },

  // Usage that nobody asked for is withheld: no chunk without choices.
  async stream_without_usage() {
    let chunks = 0;
    for await (const chunk of await client.chat.completions.create({ model: MODEL, messages: HELLO, max_tokens: 4, stream: true })) {
      assert.ok(chunk.choices.length, JSON.stringify(chunk));
      chunks++;
    }
    assert.ok(chunks);
  },

  async completions() {
    const reply = await client.completions.create({ model: MODEL, prompt: "Once upon a time", max_tokens: 8 });
    assert.ok(reply.choices[0]!.text, JSON.stringify(reply));
  },

  async embeddings() {
    const reply = await client.embeddings.create({ model: env("EMBEDDING_MODEL"), input: ["hello", "world"] });
    assert.equal(reply.data.length, 2);
    assert.ok(reply.data[0]!.embedding.length > 8 && reply.data[0]!.embedding.some((x) => x !== 0));
  },

  // A server without embeddings is a clear refusal that says why.
  async embeddings_missing() {
    const e = await thrown(OpenAI.APIError, () =>
      client.embeddings.create({ model: env("NO_EMBEDDING_MODEL"), input: "hello" }));
    assert.ok(e.status! >= 400 && e.status! < 500, String(e));
    assert.match(e.message, /embeddings/);
  },

  async tools() {
    const first = (await client.chat.completions.create({ model: MODEL, messages: WEATHER, ...CALL })).choices[0]!;
    const call = first.message.tool_calls?.[0];
    assert.ok(call?.type === "function", JSON.stringify(first));
    assert.equal(first.finish_reason, "tool_calls");
    assert.equal(call.function.name, "get_weather");
    assert.ok("city" in JSON.parse(call.function.arguments), call.function.arguments);
    const second = await client.chat.completions.create({
      model: MODEL,
      messages: [...WEATHER, first.message, { role: "tool", tool_call_id: call.id, content: "12 degrees, rain" }],
      max_tokens: 16,
    });
    assert.ok(second.choices[0]!.message.content, JSON.stringify(second));
  },

  async tools_streamed() {
    let name = "", args = "", finish: string | null = null;
    for await (const chunk of await client.chat.completions.create({ model: MODEL, messages: WEATHER, stream: true, ...CALL })) {
      for (const choice of chunk.choices) {
        finish = choice.finish_reason ?? finish;
        for (const call of choice.delta.tool_calls ?? []) {
          name += call.function?.name ?? "";
          args += call.function?.arguments ?? "";
        }
      }
    }
    assert.equal(name, "get_weather");
    assert.ok("city" in JSON.parse(args), args);
    assert.equal(finish, "tool_calls");
  },

  async unknown_model() {
    const asked = MODEL + "x";
    const e = await thrown(OpenAI.NotFoundError, () => client.chat.completions.create({ model: asked, messages: HELLO }));
    assert.equal(e.code, "model_not_found");
    assert.equal(e.param, "model");
    assert.ok(e.message.replace(asked, "").includes(MODEL), e.message); // the nearest known name
  },

  async bad_request() {
    const e = await thrown(OpenAI.BadRequestError, () =>
      client.post("/chat/completions", { body: { model: MODEL, messages: HELLO, stream: "yes" } }));
    assert.equal(e.code, "invalid_request");
    assert.equal(e.param, "stream");
  },

  async rate_limited() {
    const e = await thrown(OpenAI.RateLimitError, () =>
      client.chat.completions.create({ model: env("LIMITED_MODEL"), messages: HELLO }));
    assert.equal(e.code, "all_providers_rate_limited");
    assert.ok(Number(e.headers!.get("retry-after")) > 0);
  },

  async server_error() {
    const e = await thrown(OpenAI.InternalServerError, () =>
      client.chat.completions.create({ model: env("BROKEN_MODEL"), messages: HELLO }));
    assert.equal(e.status, 502);
    assert.equal(e.code, "provider_error");
    assert.equal((e.error as { attempts: { status: number }[] }).attempts[0]!.status, 500);
  },

  // A stream that is cut after content throws; it never ends as if it were whole (R15).
  async cut_stream() {
    let text = "";
    const e = await thrown(OpenAI.APIError, async () => {
      for await (const chunk of await client.chat.completions.create({ model: env("CUT_MODEL"), messages: HELLO, stream: true }))
        text += chunk.choices[0]?.delta.content ?? "";
    });
    assert.ok(text, "the content before the cut is missing");
    assert.ok(e.message);
  },
});
