// The openai SDK in front of every upstream dialect: chat completions and Responses.

import assert from "node:assert/strict";
import OpenAI from "openai";
import { ContentFilterFinishReasonError, LengthFinishReasonError } from "openai/error";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import {
  CITY, DESCRIPTION, INSTRUCTIONS, NOTHING, PARALLEL, PNG, QUESTION, SCHEMA, URL, WEATHER,
  expect, fault, recordings, replay, run, thrown, weather, type Upstream,
} from "./checks.js";

const client = new OpenAI({ baseURL: URL + "/v1", apiKey: "unused", maxRetries: 0, timeout: 30_000 });

const Report = z.object({ city: z.string(), degrees: z.number(), sky: z.array(z.enum(["sun", "rain"])) });

const FUNCTION = { name: "get_weather", description: DESCRIPTION, parameters: SCHEMA };
const CHAT_TOOLS: OpenAI.Chat.ChatCompletionTool[] = [
  { type: "function", function: FUNCTION },
  { type: "function", function: { name: "get_time", parameters: NOTHING } },
];
const RESPONSES_TOOLS: OpenAI.Responses.Tool[] = [
  { type: "function", strict: true, ...FUNCTION },
  { type: "function", strict: false, name: "get_time", parameters: NOTHING },
];

type Messages = OpenAI.Chat.ChatCompletionMessageParam[];
const ASK: Messages = [{ role: "system", content: INSTRUCTIONS }, { role: "user", content: QUESTION }];
const ASK_BOTH: Messages = [ASK[0]!, { role: "user", content: PARALLEL }];
const IMAGE = "data:image/png;base64," + PNG;

function functions(message: OpenAI.Chat.ChatCompletionMessage) {
  return (message.tool_calls ?? []).map((c) => {
    assert.equal(c.type, "function");
    return { id: c.id, ...(c as OpenAI.Chat.ChatCompletionMessageFunctionToolCall).function };
  });
}

function answered(message: OpenAI.Chat.ChatCompletionMessage): Messages {
  return [message, ...functions(message).map((c) => ({ role: "tool" as const, tool_call_id: c.id, content: WEATHER }))];
}

function functionCalls(r: OpenAI.Responses.Response) {
  return r.output.filter((i): i is OpenAI.Responses.ResponseFunctionToolCall => i.type === "function_call");
}

async function errors(ask: (headers: Record<string, string>) => Promise<unknown>) {
  const bad = await thrown(OpenAI.BadRequestError, () => ask(fault("status=400; message=no such luck")));
  assert.ok(bad.message.includes("no such luck") && bad.type, bad.message);
  const limited = await thrown(OpenAI.RateLimitError, () => ask(fault("status=429; retry-after=7")));
  assert.equal(limited.headers!.get("retry-after"), "7");
  const broken = await thrown(OpenAI.InternalServerError, () => ask(fault("status=500")));
  assert.equal(broken.status, 502);
}

// A stream that breaks off after content throws (R15).
async function cut(ask: (headers: Record<string, string>) => Promise<AsyncIterable<unknown>>) {
  for (const how of ["cut=3", "eof=3", "error=3"]) {
    let seen = 0;
    await thrown(OpenAI.APIError, async () => {
      for await (const _ of await ask(fault(how))) seen++;
    });
    assert.ok(seen, how);
  }
}

await run(
  {
    async unknown_model() {
      const e = await thrown(OpenAI.NotFoundError, () => client.responses.create({ model: "no-such-model", input: QUESTION }));
      assert.equal(e.code, "model_not_found");
    },

    async recorded_chat() {
      for (const r of recordings()) {
        const tools = r.calls.map(([name]) => ({ type: "function" as const, function: { name, parameters: { type: "object" } } }));
        const more = { model: r.upstream.model, messages: ASK, ...(tools.length ? { tools } : {}) };
        const options = { headers: replay(r) };
        const reply = r.streamed
          ? await client.chat.completions.stream({ ...more, stream_options: { include_usage: true } }, options).finalChatCompletion().catch(rescued)
          : await client.chat.completions.create(more, options);
        if (!reply) continue; // the SDK's own error for a filtered or truncated answer
        const { message, finish_reason } = reply.choices[0]!;
        const calls = functions(message).map((c): [string, string] => [c.name, c.arguments]);
        const { prompt_tokens, completion_tokens } = reply.usage!;
        expect(r, { text: (message.content ?? "") + (message.refusal ?? ""), calls, input: prompt_tokens, output: completion_tokens });
        assert.equal(finish_reason, r.stop, r.file);
      }
    },

    async recorded_responses() {
      for (const r of recordings()) {
        const tools = r.calls.map(([name]) => ({ type: "function" as const, name, parameters: { type: "object" }, strict: false }));
        const more = { model: r.upstream.model, input: QUESTION, ...(tools.length ? { tools } : {}) };
        const options = { headers: replay(r) };
        const reply = r.streamed
          ? await client.responses.stream(more, options).finalResponse()
          : await client.responses.create(more, options);
        const text = reply.output.flatMap((i) => (i.type === "message" ? i.content : [])).map((c) => (c.type === "refusal" ? c.refusal : c.text));
        const calls = functionCalls(reply).map((c): [string, string] => [c.name, c.arguments]);
        expect(r, { text: text.join(""), calls, input: reply.usage!.input_tokens, output: reply.usage!.output_tokens });
        if (r.thinks) assert.ok(reply.output.some((i) => i.type === "reasoning"), r.file);
      }
    },
  },
  {
    async chat(u) {
      const { data, response } = await client.chat.completions.create({ model: u.model, messages: ASK }).withResponse();
      assert.equal(response.headers.get("x-evergate-provider"), u.name);
      const choice = data.choices[0]!;
      assert.ok(choice.message.content?.includes(QUESTION) && choice.finish_reason === "stop", JSON.stringify(data));
      assert.ok(data.usage!.completion_tokens > 0);
    },

    async chat_stream(u) {
      const stream = client.chat.completions.stream({ model: u.model, messages: ASK, stream_options: { include_usage: true } });
      let pieces = 0;
      stream.on("content", () => pieces++);
      const reply = await stream.finalChatCompletion();
      assert.ok(pieces > 3 && reply.choices[0]!.message.content?.includes(QUESTION), JSON.stringify(reply));
      assert.ok(reply.usage!.completion_tokens > 0);
    },

    async chat_image(u) {
      const content = [{ type: "text" as const, text: "Look." }, { type: "image_url" as const, image_url: { url: IMAGE } }];
      const reply = await client.chat.completions.create({ model: u.model, messages: [{ role: "user", content }] });
      assert.match(reply.choices[0]!.message.content!, /1 image/);
    },

    async chat_parse(u) {
      const reply = await client.chat.completions.parse({ model: u.model, messages: ASK, response_format: zodResponseFormat(Report, "report") });
      Report.parse(reply.choices[0]!.message.parsed);
    },

    async chat_tools(u) {
      const first = (await client.chat.completions.create({ model: u.model, messages: ASK_BOTH, tools: CHAT_TOOLS })).choices[0]!;
      assert.equal(first.finish_reason, "tool_calls");
      assert.deepEqual(functions(first.message).map((c) => [c.name, JSON.parse(c.arguments)]), [["get_weather", { city: CITY }], ["get_time", {}]]);
      const second = await client.chat.completions.create({ model: u.model, messages: [...ASK_BOTH, ...answered(first.message)], tools: CHAT_TOOLS });
      assert.equal(second.choices[0]!.message.content!.split(WEATHER).length, 3, JSON.stringify(second));
    },

    // The SDK's own loop, streamed: it calls the function and sends the result back.
    async chat_run_tools(u) {
      const asked: unknown[] = [];
      const runner = client.chat.completions.runTools({
        model: u.model, messages: ASK, stream: true,
        tools: [{ type: "function", function: { ...FUNCTION, parse: JSON.parse, function: (args: object) => (asked.push(args), WEATHER) } }],
      });
      weather((await runner.finalContent())!);
      assert.deepEqual(asked, [{ city: CITY }]);
    },

    async chat_errors(u) {
      await errors((headers) => client.chat.completions.create({ model: u.model, messages: ASK }, { headers }));
    },

    async chat_cut(u) {
      await cut((headers) => client.chat.completions.create({ model: u.model, messages: ASK, stream: true }, { headers }));
    },

    async embeddings(u) {
      if (!u.embedding_model) return;
      const reply = await client.embeddings.create({ model: u.embedding_model, input: ["hello", "world"] });
      assert.ok(reply.data.length === 2 && reply.data[0]!.embedding.some((x) => x !== 0), JSON.stringify(reply));
    },

    async responses(u) {
      const reply = await client.responses.create({ model: u.model, instructions: INSTRUCTIONS, input: QUESTION });
      assert.ok(reply.status === "completed" && reply.output_text.includes(QUESTION), JSON.stringify(reply));
      assert.ok(reply.usage!.output_tokens > 0);
    },

    async responses_stream(u) {
      const stream = client.responses.stream({ model: u.model, input: QUESTION });
      let text = "";
      stream.on("response.output_text.delta", (e) => (text += e.delta));
      const reply = await stream.finalResponse();
      assert.ok(text.includes(QUESTION) && reply.output_text === text, text);
    },

    async responses_parse(u) {
      const reply = await client.responses.parse({ model: u.model, input: QUESTION, text: { format: zodTextFormat(Report, "report") } });
      Report.parse(reply.output_parsed);
    },

    async responses_tools(u) {
      const more = { model: u.model, tools: RESPONSES_TOOLS, store: false, include: ["reasoning.encrypted_content" as const], reasoning: { effort: "low" as const } };
      const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: PARALLEL }];
      const first = await client.responses.stream({ input, ...more }).finalResponse();
      const calls = functionCalls(first);
      assert.deepEqual(calls.map((c) => [c.name, JSON.parse(c.arguments)]), [["get_weather", { city: CITY }], ["get_time", {}]]);
      // As the SDK's documentation has it; what its stream helper adds for its own use must not go back.
      input.push(...(first.output.map(({ parsed_arguments, parsed, ...item }: any) => item) as OpenAI.Responses.ResponseInput));
      input.push(...calls.map((c) => ({ type: "function_call_output" as const, call_id: c.call_id, output: WEATHER })));
      const second = await client.responses.create({ input, ...more });
      assert.equal(second.output_text.split(WEATHER).length, 3, JSON.stringify(second));
    },

    async responses_thread(u) {
      const first = await client.responses.create({ model: u.model, input: QUESTION, tools: RESPONSES_TOOLS });
      const output = functionCalls(first).map((c) => ({ type: "function_call_output" as const, call_id: c.call_id, output: WEATHER }));
      const second = await client.responses.create({ model: u.model, previous_response_id: first.id, input: output, tools: RESPONSES_TOOLS });
      weather(second.output_text);
      assert.equal(second.previous_response_id, first.id);
      assert.equal((await client.responses.retrieve(second.id)).output_text, second.output_text);
      await client.responses.delete(second.id);
      await thrown(OpenAI.NotFoundError, () => client.responses.retrieve(second.id));
    },

    async responses_errors(u) {
      await errors((headers) => client.responses.create({ model: u.model, input: QUESTION }, { headers }));
    },

    async responses_cut(u) {
      await cut((headers) => client.responses.create({ model: u.model, input: QUESTION, stream: true }, { headers }));
    },
  } satisfies Record<string, (u: Upstream) => Promise<void>>,
);

/** Where the stream helper refuses to give an answer that was filtered or cut at the limit, it says so by an error of its own. */
function rescued(e: unknown): undefined {
  assert.ok(e instanceof ContentFilterFinishReasonError || e instanceof LengthFinishReasonError, String(e));
  return undefined;
}
