// Every TypeScript SDK but openai's chat (see sdk.ts), talking through the gateway to a real model server that speaks chat
// completions alone. The model is small: it is asked for a few words, and nothing depends on which.

import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { generateText, streamText, type LanguageModel } from "ai";
import OpenAI from "openai";
import { URL, env, run, type Check } from "./checks.js";

globalThis.AI_SDK_LOG_WARNINGS = false; // it knows no model by the name used here

const MODEL = env("MODEL");
const HELLO = "Say hello";
const WORDS = 16; // the least that Responses takes

const anthropic = new Anthropic({ baseURL: URL, apiKey: "unused", maxRetries: 0, timeout: 60_000 });
const openai = new OpenAI({ baseURL: URL + "/v1", apiKey: "unused", maxRetries: 0, timeout: 60_000 });
const google = new GoogleGenAI({ apiKey: "unused", httpOptions: { baseUrl: URL, timeout: 60_000 } });
const MESSAGE = { model: MODEL, max_tokens: WORDS, messages: [{ role: "user" as const, content: HELLO }] };
const CONTENT = { model: MODEL, contents: HELLO, config: { maxOutputTokens: WORDS } };

function talk(model: LanguageModel): Check {
  const ask = { model, prompt: HELLO, maxOutputTokens: WORDS, maxRetries: 0 };
  return async () => {
    assert.ok((await generateText(ask)).text);
    const pieces: string[] = [];
    for await (const piece of streamText(ask).textStream) pieces.push(piece);
    assert.ok(pieces.length > 1 && pieces.join(""), pieces.join("|"));
  };
}

await run({
  async messages() {
    const reply = await anthropic.messages.create(MESSAGE);
    assert.ok(reply.content[0]?.type === "text" && reply.content[0].text && reply.usage.output_tokens > 0, JSON.stringify(reply));
  },

  async messages_stream() {
    let text = "";
    const reply = await anthropic.messages.stream(MESSAGE).on("text", (t) => (text += t)).finalMessage();
    assert.ok(text && reply.content[0]?.type === "text" && reply.content[0].text === text, JSON.stringify(reply));
  },

  async responses() {
    const reply = await openai.responses.create({ model: MODEL, input: HELLO, max_output_tokens: WORDS });
    assert.ok(reply.output_text && reply.usage!.output_tokens > 0, JSON.stringify(reply));
  },

  async responses_stream() {
    let text = "";
    const stream = openai.responses.stream({ model: MODEL, input: HELLO, max_output_tokens: WORDS });
    const reply = await stream.on("response.output_text.delta", (e) => (text += e.delta)).finalResponse();
    assert.ok(text && reply.output_text === text, JSON.stringify(reply));
  },

  async gemini() {
    const reply = await google.models.generateContent(CONTENT);
    assert.ok(reply.text && reply.usageMetadata!.candidatesTokenCount! > 0, JSON.stringify(reply));
  },

  async gemini_stream() {
    let text = "", finish;
    for await (const chunk of await google.models.generateContentStream(CONTENT)) {
      text += chunk.text ?? "";
      finish = chunk.candidates?.[0]?.finishReason ?? finish;
    }
    assert.ok(text && finish, `${text} ${finish}`);
  },

  ai_chat: talk(createOpenAI({ baseURL: URL + "/v1", apiKey: "unused" }).chat(MODEL)),
  ai_responses: talk(createOpenAI({ baseURL: URL + "/v1", apiKey: "unused" }).responses(MODEL)),
  ai_messages: talk(createAnthropic({ baseURL: URL + "/v1", apiKey: "unused" })(MODEL)),
  ai_gemini: talk(createGoogleGenerativeAI({ baseURL: URL + "/v1beta", apiKey: "unused" })(MODEL)),
});
