// Vercel's ai package in front of every upstream dialect, with its providers for OpenAI (chat and Responses), Anthropic and Google.

import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateText, isStepCount, Output, streamText, tool, type LanguageModel } from "ai";
import { z } from "zod";
import { CITY, DESCRIPTION, INSTRUCTIONS, PNG, QUESTION, URL, WEATHER, fault, run, thrown, weather, type Upstream, type UpstreamCheck } from "./checks.js";

globalThis.AI_SDK_LOG_WARNINGS = false; // it knows no model by the names used here

const openai = createOpenAI({ baseURL: URL + "/v1", apiKey: "unused" });
const anthropic = createAnthropic({ baseURL: URL + "/v1", apiKey: "unused" });
const google = createGoogleGenerativeAI({ baseURL: URL + "/v1beta", apiKey: "unused" });

const Report = z.object({ city: z.string(), degrees: z.number(), sky: z.array(z.enum(["sun", "rain"])) });

function checks(model: (u: Upstream) => LanguageModel): Record<string, UpstreamCheck> {
  const ask = (u: Upstream) => ({ model: model(u), instructions: INSTRUCTIONS, prompt: QUESTION, maxRetries: 0 });

  /** A request that goes on until the tool's result was said. */
  const loop = (u: Upstream, asked: string[]) => ({
    ...ask(u),
    stopWhen: isStepCount(3),
    tools: {
      get_weather: tool({
        description: DESCRIPTION,
        inputSchema: z.object({ city: z.enum(["Paris", "Rome"]) }),
        execute: async ({ city }) => (asked.push(city), WEATHER),
      }),
    },
  });

  return {
    async text(u) {
      const { text, finishReason, usage } = await generateText(ask(u));
      assert.ok(text.includes(QUESTION) && finishReason === "stop", text);
      assert.ok(usage.inputTokens! > 0 && usage.outputTokens! > 0, JSON.stringify(usage));
    },

    async stream(u) {
      const result = streamText(ask(u));
      const pieces: string[] = [];
      for await (const piece of result.textStream) pieces.push(piece);
      assert.ok(pieces.length > 3 && pieces.join("").includes(QUESTION), pieces.join(""));
      assert.ok((await result.usage).outputTokens! > 0);
    },

    async image(u) {
      const content = [{ type: "text" as const, text: "Look." }, { type: "file" as const, mediaType: "image/png", data: PNG }];
      const { text } = await generateText({ model: model(u), messages: [{ role: "user", content }], maxRetries: 0 });
      assert.match(text, /1 image/);
    },

    async tools(u) {
      const asked: string[] = [];
      const { text, steps } = await generateText(loop(u, asked));
      weather(text);
      assert.equal(steps.length, 2);
      assert.deepEqual(asked, [CITY]);
    },

    async tools_stream(u) {
      const asked: string[] = [];
      const failures: unknown[] = [];
      const result = streamText({ ...loop(u, asked), onError: ({ error }) => void failures.push(error) });
      await result.consumeStream();
      assert.deepEqual(failures, []);
      weather(await result.text);
      assert.deepEqual(asked, [CITY]);
    },

    async structured(u) {
      const { output } = await generateText({ ...ask(u), output: Output.object({ schema: Report }) });
      Report.parse(output);
    },

    async errors(u) {
      const bad = await thrown(APICallError, () => generateText({ ...ask(u), headers: fault("status=400; message=no such luck") }));
      assert.ok(bad.statusCode === 400 && bad.message.includes("no such luck"), bad.message);
      const limited = await thrown(APICallError, () => generateText({ ...ask(u), headers: fault("status=429; retry-after=7") }));
      assert.ok(limited.statusCode === 429 && limited.isRetryable && limited.responseHeaders!["retry-after"] === "7", JSON.stringify(limited));
    },

    // A stream that breaks off after content reports an error; it never ends as if it were whole (R15).
    async cut(u) {
      const failures: unknown[] = [];
      const result = streamText({ ...ask(u), headers: fault("cut=3"), onError: ({ error }) => void failures.push(error) });
      let text = "", finish = "";
      for await (const part of result.fullStream) {
        if (part.type === "text-delta") text += part.text;
        if (part.type === "finish") finish = part.finishReason;
      }
      assert.ok(text && failures.length, `${text} ${failures}`);
      assert.notEqual(finish, "stop");
    },
  };
}

const all: Record<string, UpstreamCheck> = {};
for (const [dialect, model] of Object.entries({
  chat: (u: Upstream) => openai.chat(u.model),
  responses: (u: Upstream) => openai.responses(u.model),
  messages: (u: Upstream) => anthropic(u.model),
  gemini: (u: Upstream) => google(u.model),
}))
  for (const [name, check] of Object.entries(checks(model))) all[`${dialect}_${name}`] = check;

await run({}, all);
