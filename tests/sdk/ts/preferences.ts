// Where a request would rather go, said with real SDKs; where it may not go; and whose key is used. preferences.py has the
// same checks. The gateway's own members are no part of the SDKs' types, which pass them on all the same.

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { URL, env, fault, run, thrown } from "./checks.js";

const HELLO = [{ role: "user" as const, content: "Say hello" }];
const client = new OpenAI({ baseURL: URL + "/v1", apiKey: "dev-key", maxRetries: 0, timeout: 60_000 });
const hospital = client.withOptions({ apiKey: "hospital-key" });
const claude = new Anthropic({ baseURL: URL, apiKey: "dev-key", maxRetries: 0, timeout: 60_000 });

interface Wishes {
  model?: string;
  prefer?: string;
  headers?: Record<string, string>;
  by?: OpenAI;
  body?: object;
}

/** Gives who answered. */
async function ask({ model = "smart", prefer, headers = {}, by = client, body = {} }: Wishes = {}) {
  const { data, response } = await by.chat.completions
    .create({ model, messages: HELLO, ...body }, { headers: { ...headers, ...(prefer && { "x-evergate-prefer": prefer }) } })
    .withResponse();
  assert.ok(data.choices[0]!.message.content);
  return response.headers.get("x-evergate-provider");
}

/** Gives the error that must come. */
async function refused<E>(kind: abstract new (...args: never[]) => E, wishes: Wishes): Promise<E> {
  return thrown(kind, () => ask(wishes));
}

async function trail(wishes: Wishes) {
  const e = await refused(OpenAI.InternalServerError, { ...wishes, headers: fault("status=500") });
  return e.headers.get("x-evergate-trail");
}

/** The last four characters of the key that the last request came to a provider with. */
async function keySeen() {
  const seen = (await (await fetch(env("MOCK_URL") + "/mock/requests")).json()) as { path: string; key: string }[];
  return seen.filter((q) => !q.path.endsWith("/models")).at(-1)!.key;
}

const provider = (wishes: object) => ({ body: { provider: wishes } });
const OWN = { "x-evergate-key-theirs": "callers-own-mine" };
const BIASED = { logit_bias: { "50256": -100 } };

await run({
  async nothing() {
    assert.equal(await ask(), "us");
  },

  async order() {
    assert.equal(await ask(provider({ order: ["claude", "eu"] })), "claude");
    assert.equal(await ask(provider({ order: ["EU"] })), "eu");
    const both = { models: ["smart"], provider: { order: ["down", "eu"] } };
    assert.equal(await ask({ model: "fragile", body: both }), "eu"); // within each model
  },

  async only() {
    assert.equal(await ask(provider({ only: ["eu"] })), "eu");
    assert.equal(await trail(provider({ only: ["eu"] })), "eu/m=500");
  },

  async ignore() {
    assert.equal(await ask(provider({ ignore: ["us", "eu"] })), "claude");
  },

  async sort() {
    assert.equal(await ask(provider({ sort: "price" })), "claude");
    assert.equal(await ask({ prefer: "sort=price; ignore=claude" }), "eu");
  },

  async no_fallbacks() {
    assert.equal(await trail(provider({ allow_fallbacks: false })), "us/m=500");
    assert.equal(await trail(provider({ order: ["eu", "claude"], allow_fallbacks: false })), "eu/m=500, claude/m=500");
  },

  async models() {
    assert.equal(await ask({ model: "fragile", body: { models: ["overseas"] } }), "us");
    assert.equal(await ask({ model: "fragile", prefer: "models=private,overseas" }), "eu");
  },

  async header() {
    assert.equal(await ask({ prefer: "order=eu" }), "eu");
    assert.equal(await trail({ prefer: "order=claude; fallbacks=no" }), "claude/m=500");
  },

  // Where both speak of the same, the header counts; the rest of the body holds.
  async header_counts() {
    assert.equal(await ask({ prefer: "order=eu", ...provider({ order: ["us"] }) }), "eu");
    assert.equal(await ask({ prefer: "order=us,eu", ...provider({ ignore: ["us"] }) }), "eu");
  },

  // A member that another API has no place for is left out there, but not with strict.
  async strict() {
    assert.equal(await ask({ body: { provider: { order: ["claude"] }, ...BIASED } }), "claude");
    assert.equal(await ask({ body: { provider: { order: ["claude"], require_parameters: true }, ...BIASED } }), "us");
    const e = await refused(OpenAI.BadRequestError, { prefer: "strict; only=claude", body: BIASED });
    assert.match(e.message, /logit_bias/);
  },

  async max_price() {
    assert.equal(await ask(provider({ max_price: { prompt: 2.5, completion: 2.5 } })), "eu");
    assert.equal(await ask({ prefer: "max_price=1/1" }), "claude");
  },

  async timeout() {
    const start = performance.now();
    const e = await refused(OpenAI.InternalServerError, { prefer: "timeout=200ms", headers: fault("latency=5s") });
    assert.deepEqual([e.status, e.code], [504, "deadline_exceeded"]);
    assert.ok(performance.now() - start < 3000);
  },

  async unknown_provider() {
    const e = await refused(OpenAI.BadRequestError, provider({ ignore: ["uss"] }));
    assert.equal(e.code, "invalid_request");
    assert.match(e.message, /uss/);
    assert.match((await refused(OpenAI.BadRequestError, { prefer: "odrer=us" })).message, /odrer/);
  },

  // The refusal says of each candidate why it fell.
  async nobody_left() {
    const e = await refused(OpenAI.BadRequestError,
      provider({ ignore: ["us"], only: ["us", "eu"], max_price: { prompt: 1, completion: 1 } }));
    for (const name of ["us/m", "eu/m", "claude/m"]) assert.ok(e.message.includes(name), e.message);
  },

  async messages() {
    const request = { model: "smart", max_tokens: 64, messages: HELLO };
    const first = await claude.messages.create({ ...request, ...provider({ order: ["eu"] }).body }).withResponse();
    assert.equal(first.response.headers.get("x-evergate-provider"), "eu");
    const second = await claude.messages.create(request, { headers: { "x-evergate-prefer": "only=claude" } }).withResponse();
    assert.equal(second.response.headers.get("x-evergate-provider"), "claude");
    const e = await thrown(Anthropic.BadRequestError, () =>
      claude.messages.create({ ...request, ...provider({ only: ["nobody"] }).body }));
    assert.match(e.message, /nobody/);
  },

  async responses() {
    for (const wishes of [{ order: ["claude"] }, { ignore: ["us", "eu"] }]) {
      const { response } = await client.responses
        .create({ model: "smart", input: "Say hello", ...provider(wishes).body })
        .withResponse();
      assert.equal(response.headers.get("x-evergate-provider"), "claude");
    }
  },

  async gemini() {
    const google = new GoogleGenAI({ apiKey: "dev-key", httpOptions: { baseUrl: URL, headers: { "x-evergate-prefer": "order=eu" } } });
    const reply = await google.models.generateContent({ model: "smart", contents: "Say hello" });
    assert.equal(reply.sdkHttpResponse!.headers!["x-evergate-provider"], "eu");
  },

  async embeddings() {
    const { response } = await client.embeddings
      .create({ model: "smart", input: "hello", ...provider({ only: ["eu"] }).body })
      .withResponse();
    assert.equal(response.headers.get("x-evergate-provider"), "eu");
  },

  async streamed() {
    const { data, response } = await client.chat.completions
      .create({ model: "smart", messages: HELLO, stream: true, ...provider({ order: ["claude"] }).body })
      .withResponse();
    assert.equal(response.headers.get("x-evergate-provider"), "claude");
    let finish;
    for await (const chunk of data) finish = chunk.choices[0]?.finish_reason ?? finish;
    assert.equal(finish, "stop");
  },

  async policy_of_key() {
    assert.equal(await ask({ by: hospital }), "eu");
    assert.equal(await trail({ by: hospital }), "eu/m=500"); // a failover never leaves the policy
    const e = await refused(OpenAI.PermissionDeniedError, { model: "overseas", by: hospital });
    assert.equal(e.code, "policy_denied");
    assert.match(e.message, /eu-only/);
    // The policy leaves one, which the request does not want.
    const only = await refused(OpenAI.BadRequestError, { by: hospital, ...provider({ only: ["us"] }) });
    assert.match(only.message, /eu-only/);
  },

  async policy_of_request() {
    assert.equal(await ask({ prefer: "policy=no-training" }), "eu");
    assert.equal(await ask(provider({ data_collection: "deny" })), "eu");
    const e = await refused(OpenAI.PermissionDeniedError, { model: "overseas", prefer: "policy=no-training", by: hospital });
    assert.equal(e.code, "policy_denied");
    assert.match((await refused(OpenAI.BadRequestError, { prefer: "policy=no-such" })).message, /no-such/);
  },

  async policy_of_model() {
    assert.equal(await ask({ model: "private" }), "eu");
    const e = await refused(OpenAI.BadRequestError, { model: "private", prefer: "only=us" });
    assert.match(e.message, /eu-only/);
  },

  async byok() {
    assert.equal(await ask({ model: "paid", headers: OWN }), "theirs");
    assert.equal(await keySeen(), "mine");
    assert.equal(await ask(), "us");
    assert.equal(await keySeen(), "ours");
    assert.equal(await ask({ model: "shared" }), "us"); // who brings no key is not sent where one is needed
    assert.equal(await ask({ model: "shared", headers: OWN }), "theirs");
    assert.equal(await ask({ headers: OWN }), "us");
  },

  // What is wrong with the caller's key is the caller's to know, and rests nobody else's.
  async byok_refused() {
    await refused(OpenAI.AuthenticationError, { model: "shared", headers: { "x-evergate-key-theirs": "wrong-own-key" } });
    assert.equal(await ask({ model: "shared", headers: OWN }), "theirs");
  },

  async byok_needed() {
    assert.match((await refused(OpenAI.BadRequestError, { model: "paid" })).message, /theirs/);
  },
});
