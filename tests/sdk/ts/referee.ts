// The official SDKs as the referee's callers: they ask all that $ASKS says, all at once, and tell what their user gets.
//
// $ASKS is a file with a list of {"name", "url", "client", "model", "stream"}. For each, one line of JSON is printed: the name, and
// the answer or the error that the SDK raised.

import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

interface Ask {
  name: string;
  url: string;
  client: "chat" | "messages" | "responses";
  model: string;
  stream: boolean;
}

interface Got {
  name: string;
  status: number;
  text?: string | null;
  finish?: string | null;
  model?: string;
  in?: number;
  out?: number;
  error?: { kind: string; code: string; message: string };
  breach?: string;
}

const hi = [{ role: "user" as const, content: "hi" }];

async function chat(a: Ask, got: Got): Promise<void> {
  const client = new OpenAI({ baseURL: a.url + "/v1", apiKey: "unused", maxRetries: 0, timeout: 60_000 });
  if (!a.stream) {
    const r = await client.chat.completions.create({ model: a.model, messages: hi });
    Object.assign(got, { text: r.choices[0]!.message.content, finish: r.choices[0]!.finish_reason, model: r.model });
    Object.assign(got, { in: r.usage!.prompt_tokens, out: r.usage!.completion_tokens });
    return;
  }
  got.text = "";
  const events = await client.chat.completions.create({ model: a.model, messages: hi, stream: true, stream_options: { include_usage: true } });
  for await (const c of events) {
    got.model = c.model;
    for (const choice of c.choices) {
      got.text += choice.delta.content ?? "";
      got.finish = choice.finish_reason ?? got.finish;
    }
    if (c.usage) Object.assign(got, { in: c.usage.prompt_tokens, out: c.usage.completion_tokens });
  }
}

async function messages(a: Ask, got: Got): Promise<void> {
  const client = new Anthropic({ baseURL: a.url, apiKey: "unused", maxRetries: 0, timeout: 60_000 });
  const ask = { model: a.model, max_tokens: 500, messages: hi };
  let r: Anthropic.Message;
  if (a.stream) {
    got.text = "";
    const events = client.messages.stream(ask);
    events.on("text", (piece) => (got.text += piece));
    r = await events.finalMessage();
  } else {
    r = await client.messages.create(ask);
  }
  const text = r.content.map((block) => (block.type === "text" ? block.text : "")).join("");
  Object.assign(got, { text, finish: r.stop_reason, model: r.model, in: r.usage.input_tokens, out: r.usage.output_tokens });
}

async function responses(a: Ask, got: Got): Promise<void> {
  const client = new OpenAI({ baseURL: a.url + "/v1", apiKey: "unused", maxRetries: 0, timeout: 60_000 });
  const ask = { model: a.model, input: "hi", store: false };
  let r: OpenAI.Responses.Response | undefined;
  if (a.stream) {
    got.text = "";
    for await (const e of await client.responses.create({ ...ask, stream: true })) {
      if (e.type === "response.output_text.delta") got.text += e.delta;
      if (e.type === "response.completed") r = e.response;
      if (e.type === "response.failed") {
        // the SDK hands this one to its user
        const failure = e.response.error!;
        got.error = { kind: e.type, code: failure.code, message: failure.message };
        return;
      }
    }
  } else {
    r = await client.responses.create(ask);
  }
  const text = r!.output.flatMap((item) => (item.type === "message" ? item.content : [])).map((c) => (c.type === "output_text" ? c.text : "")).join("");
  Object.assign(got, { text, finish: r!.status, model: r!.model, in: r!.usage!.input_tokens, out: r!.usage!.output_tokens });
}

async function run(a: Ask): Promise<void> {
  const got: Got = { name: a.name, status: 200 };
  const start = performance.now();
  try {
    await { chat, messages, responses }[a.client](a, got);
  } catch (e) {
    if (e instanceof OpenAI.APIError || e instanceof Anthropic.APIError) {
      got.status = e.status ?? 200;
      got.error = { kind: e.constructor.name, code: String((e as { code?: unknown }).code ?? ""), message: e.message };
    } else {
      got.breach = String(e); // what no user of the SDK expects
    }
  }
  console.log(JSON.stringify({ ...got, seconds: (performance.now() - start) / 1000 }));
}

const asks = JSON.parse(readFileSync(process.env["ASKS"]!, "utf8")) as Ask[];
await Promise.all(asks.map(run));
