// The Anthropic SDK in front of every upstream dialect.

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";
import {
  CITY, DESCRIPTION, INSTRUCTIONS, NOTHING, PARALLEL, PNG, QUESTION, SCHEMA, UPSTREAMS, URL, WEATHER,
  expect, fault, recordings, replay, run, thrown, weather, type Upstream,
} from "./checks.js";

const client = new Anthropic({ baseURL: URL, apiKey: "unused", maxRetries: 0, timeout: 30_000 });

const Report = z.object({ city: z.string(), degrees: z.number(), sky: z.array(z.enum(["sun", "rain"])) });
const TOOLS: Anthropic.Tool[] = [
  { name: "get_weather", description: DESCRIPTION, input_schema: SCHEMA },
  { name: "get_time", input_schema: NOTHING },
];
const THINK = { type: "enabled" as const, budget_tokens: 1024 };

function request(u: Upstream, content: Anthropic.MessageParam["content"] = QUESTION) {
  return { model: u.model, max_tokens: 2048, system: INSTRUCTIONS, messages: [{ role: "user", content }] as Anthropic.MessageParam[] };
}

function textOf(m: { content: readonly { type: string }[] }): string {
  return m.content.map((b) => (b.type === "text" ? (b as Anthropic.TextBlock).text : "")).join("");
}

function callsOf(m: Anthropic.Message): [string, object][] {
  return m.content.filter((b) => b.type === "tool_use").map((b) => [b.name, b.input as object]);
}

function answered(m: Anthropic.Message): Anthropic.MessageParam[] {
  const results = m.content.filter((b) => b.type === "tool_use").map((b) => ({ type: "tool_result" as const, tool_use_id: b.id, content: WEATHER }));
  return [{ role: "assistant", content: m.content }, { role: "user", content: results }];
}

await run(
  {
    async models() {
      const ids: string[] = [];
      for await (const m of client.models.list()) ids.push(m.id);
      for (const u of UPSTREAMS) assert.ok(ids.some((id) => id === u.model || u.model.endsWith("/" + id)), `${u.model}: ${ids}`);
    },

    async unknown_model() {
      const e = await thrown(Anthropic.NotFoundError, () => client.messages.create(request({ name: "", model: "no-such-model" })));
      assert.equal((e.error as any).error.type, "not_found_error");
    },

    async recorded() {
      for (const r of recordings()) {
        const tools = r.calls.map(([name]) => ({ name, input_schema: { type: "object" as const } }));
        const ask = { ...request(r.upstream), thinking: THINK, ...(tools.length ? { tools } : {}) };
        const options = { headers: replay(r) };
        const reply = r.streamed ? await client.messages.stream(ask, options).finalMessage() : await client.messages.create(ask, options);
        const input = reply.usage.input_tokens + (reply.usage.cache_creation_input_tokens ?? 0) + (reply.usage.cache_read_input_tokens ?? 0);
        expect(r, { text: textOf(reply), calls: callsOf(reply), input, output: reply.usage.output_tokens });
        if (r.thinks) assert.match(reply.content[0]!.type, /thinking$/, r.file);
      }
    },
  },
  {
    async messages(u) {
      const { data, response } = await client.messages.create(request(u)).withResponse();
      assert.equal(response.headers.get("x-evergate-provider"), u.name);
      assert.ok(textOf(data).includes(QUESTION) && data.stop_reason === "end_turn", JSON.stringify(data));
      assert.ok(data.usage.input_tokens > 0 && data.usage.output_tokens > 0);
    },

    async stream(u) {
      let pieces = 0;
      const stream = client.messages.stream(request(u)).on("text", () => pieces++);
      const reply = await stream.finalMessage();
      assert.ok(pieces > 3 && textOf(reply).includes(QUESTION) && reply.usage.output_tokens > 0, JSON.stringify(reply));
    },

    async image(u) {
      const image = { type: "image" as const, source: { type: "base64" as const, media_type: "image/png" as const, data: PNG } };
      assert.match(textOf(await client.messages.create(request(u, [{ type: "text", text: "Look." }, image]))), /1 image/);
    },

    async tools(u) {
      const ask = { ...request(u, PARALLEL), tools: TOOLS };
      const first = await client.messages.create(ask);
      assert.deepEqual(callsOf(first), [["get_weather", { city: CITY }], ["get_time", {}]]);
      ask.messages.push(...answered(first));
      assert.equal(textOf(await client.messages.create(ask)).split(WEATHER).length, 3);
    },

    // Streamed calls after streamed thoughts, which go back sealed as they came.
    async tools_stream(u) {
      const ask = { ...request(u), tools: TOOLS, thinking: THINK };
      const first = await client.messages.stream(ask).finalMessage();
      assert.deepEqual(callsOf(first), [["get_weather", { city: CITY }]]);
      ask.messages.push(...answered(first));
      weather(textOf(await client.messages.stream(ask).finalMessage()));
    },

    // The SDK's own loop (beta): it calls the function and sends the result back.
    async tool_runner(u) {
      const asked: string[] = [];
      const tool = betaZodTool({
        name: "get_weather", description: DESCRIPTION, inputSchema: z.object({ city: z.enum(["Paris", "Rome"]) }),
        run: ({ city }) => (asked.push(city), WEATHER),
      });
      weather(textOf(await client.beta.messages.toolRunner({ ...request(u), tools: [tool] } as any) as any));
      assert.deepEqual(asked, [CITY]);
    },

    async structured(u) {
      const reply = await client.messages.parse({ ...request(u), output_config: { format: zodOutputFormat(Report) } });
      Report.parse(reply.parsed_output);
    },

    async count_tokens(u) {
      const { max_tokens, ...ask } = request(u);
      const few = (await client.messages.countTokens(ask)).input_tokens;
      const many = (await client.messages.countTokens({ ...ask, messages: [{ role: "user", content: QUESTION.repeat(20) }] })).input_tokens;
      assert.ok(0 < few && few < many, `${few} ${many}`);
    },

    async errors(u) {
      const ask = (words: string) => client.messages.create(request(u), { headers: fault(words) });
      const bad = await thrown(Anthropic.BadRequestError, () => ask("status=400; message=no such luck"));
      assert.ok(bad.message.includes("no such luck"), bad.message);
      const limited = await thrown(Anthropic.RateLimitError, () => ask("status=429; retry-after=7"));
      assert.equal(limited.headers!.get("retry-after"), "7");
      const broken = await thrown(Anthropic.InternalServerError, () => ask("status=500"));
      assert.equal(broken.status, 502);
    },

    // A stream that breaks off after content throws, in both ways to read it (R15).
    async cut(u) {
      for (const how of ["cut=3", "eof=3", "error=3"]) {
        const headers = fault(how);
        let seen = "";
        await thrown(Anthropic.APIError, async () => {
          for await (const e of await client.messages.create({ ...request(u), stream: true }, { headers })) seen += e.type + " ";
        });
        assert.ok(seen.includes("content_block_delta") && !seen.includes("message_stop"), seen);
        await thrown(Anthropic.AnthropicError, () => client.messages.stream(request(u), { headers }).finalMessage());
      }
    },
  },
);
