// The @google/genai SDK in front of every upstream dialect.

import assert from "node:assert/strict";
import { ApiError, FinishReason, FunctionCallingConfigMode, GoogleGenAI, Type, type Content, type GenerateContentResponse, type Part } from "@google/genai";
import {
  CITY, DESCRIPTION, INSTRUCTIONS, NOTHING, PARALLEL, PNG, QUESTION, UPSTREAMS, URL, WEATHER,
  expect, fault, recordings, replay, run, thrown, weather,
} from "./checks.js";

const client = new GoogleGenAI({ apiKey: "unused", httpOptions: { baseUrl: URL, timeout: 30_000 } });

const TOOLS = [
  {
    functionDeclarations: [
      {
        name: "get_weather", description: DESCRIPTION,
        parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING, enum: ["Paris", "Rome"] } }, required: ["city"] },
      },
      { name: "get_time", parametersJsonSchema: NOTHING },
    ],
  },
];
const ASK = { systemInstruction: INSTRUCTIONS };
const faulty = (words: string) => ({ ...ASK, httpOptions: { headers: fault(words) } });
const user = (text: string): Content => ({ role: "user", parts: [{ text }] });

/** What a stream said, as one content and the last words on finish and usage. */
async function gathered(chunks: AsyncIterable<GenerateContentResponse> | GenerateContentResponse[]) {
  const parts: Part[] = [];
  let finish: FinishReason | undefined, usage: GenerateContentResponse["usageMetadata"], count = 0;
  for await (const chunk of chunks) {
    count++;
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
    finish = chunk.candidates?.[0]?.finishReason ?? finish;
    usage = chunk.usageMetadata ?? usage;
  }
  const text = parts.map((p) => (p.thought ? "" : (p.text ?? ""))).join("");
  const calls = parts.flatMap((p) => (p.functionCall ? [p.functionCall] : []));
  return { parts, text, calls, finish, usage: usage!, count };
}

function answered(parts: Part[]): Content[] {
  const results = parts.flatMap((p) => (p.functionCall ? [{ functionResponse: { id: p.functionCall.id!, name: p.functionCall.name!, response: { result: WEATHER } } }] : []));
  return [{ role: "model", parts }, { role: "user", parts: results }];
}

await run(
  {
    async models() {
      const names: string[] = [];
      for await (const m of await client.models.list()) names.push(m.name!.replace("models/", ""));
      for (const u of UPSTREAMS) assert.ok(names.some((n) => u.model.endsWith(n)), `${u.model}: ${names}`);
    },

    async unknown_model() {
      const e = await thrown(ApiError, () => client.models.generateContent({ model: "no-such-model", contents: QUESTION }));
      assert.ok(e.status === 404 && e.message.includes("NOT_FOUND"), e.message);
    },

    async recorded() {
      for (const r of recordings()) {
        const declared = r.calls.map(([name]) => ({ name }));
        const config = {
          httpOptions: { headers: replay(r) }, thinkingConfig: { includeThoughts: true },
          ...(declared.length ? { tools: [{ functionDeclarations: declared }] } : {}),
        };
        const ask = { model: r.upstream.model, contents: QUESTION, config };
        const got = await gathered(r.streamed ? await client.models.generateContentStream(ask) : [await client.models.generateContent(ask)]);
        const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = got.usage;
        const calls = got.calls.map((c): [string, object] => [c.name!, c.args ?? {}]);
        expect(r, { text: got.text, calls, input: promptTokenCount, output: candidatesTokenCount + thoughtsTokenCount });
        assert.ok(got.finish, r.file);
      }
    },
  },
  {
    async generate(u) {
      const reply = await client.models.generateContent({ model: u.model, contents: QUESTION, config: ASK });
      assert.ok(reply.text?.includes(QUESTION), JSON.stringify(reply));
      assert.equal(reply.candidates![0]!.finishReason, FinishReason.STOP);
      assert.ok(reply.usageMetadata!.candidatesTokenCount! > 0);
    },

    async stream(u) {
      const got = await gathered(await client.models.generateContentStream({ model: u.model, contents: QUESTION, config: ASK }));
      assert.ok(got.count > 3 && got.text.includes(QUESTION) && got.finish === FinishReason.STOP, got.text);
      assert.ok(got.usage.candidatesTokenCount! > 0);
    },

    async image(u) {
      const contents = [{ text: "Look." }, { inlineData: { mimeType: "image/png", data: PNG } }];
      assert.match((await client.models.generateContent({ model: u.model, contents })).text!, /1 image/);
    },

    async tools(u) {
      const contents = [user(PARALLEL)], config = { ...ASK, tools: TOOLS };
      const first = await client.models.generateContent({ model: u.model, contents, config });
      assert.deepEqual(first.functionCalls!.map((c) => [c.name, c.args ?? {}]), [["get_weather", { city: CITY }], ["get_time", {}]]);
      contents.push(...answered(first.candidates![0]!.content!.parts!));
      const second = await client.models.generateContent({ model: u.model, contents, config });
      assert.equal(second.text!.split(WEATHER).length, 3, JSON.stringify(second));
    },

    async tools_stream(u) {
      const contents = [user(QUESTION)], config = { ...ASK, tools: TOOLS, thinkingConfig: { includeThoughts: true } };
      const first = await gathered(await client.models.generateContentStream({ model: u.model, contents, config }));
      assert.deepEqual(first.calls.map((c) => [c.name, c.args]), [["get_weather", { city: CITY }]]);
      contents.push(...answered(first.parts));
      weather((await gathered(await client.models.generateContentStream({ model: u.model, contents, config }))).text);
    },

    async forced(u) {
      const toolConfig = { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ["get_time"] } };
      const reply = await client.models.generateContent({ model: u.model, contents: QUESTION, config: { ...ASK, tools: TOOLS, toolConfig } });
      assert.deepEqual(reply.functionCalls!.map((c) => c.name), ["get_time"]);
    },

    async structured(u) {
      const responseSchema = { type: Type.OBJECT, properties: { city: { type: Type.STRING }, degrees: { type: Type.INTEGER } }, required: ["city", "degrees"] };
      const config = { ...ASK, responseMimeType: "application/json", responseSchema };
      const report = JSON.parse((await client.models.generateContent({ model: u.model, contents: QUESTION, config })).text!);
      assert.ok(typeof report.city === "string" && Number.isInteger(report.degrees), JSON.stringify(report));
    },

    async chat(u) {
      const chat = client.chats.create({ model: u.model, config: ASK });
      await chat.sendMessage({ message: "My name is Ada." });
      const got = await gathered(await chat.sendMessageStream({ message: "Who am I?" }));
      assert.ok(got.text.includes("Who am I?"), got.text);
    },

    async count_tokens(u) {
      const few = (await client.models.countTokens({ model: u.model, contents: QUESTION })).totalTokens!;
      const many = (await client.models.countTokens({ model: u.model, contents: QUESTION.repeat(20) })).totalTokens!;
      assert.ok(0 < few && few < many, `${few} ${many}`);
    },

    async embed(u) {
      if (!u.embedding_model) return;
      const reply = await client.models.embedContent({ model: u.embedding_model, contents: ["hello", "world"] });
      assert.ok(reply.embeddings!.length === 2 && reply.embeddings![0]!.values!.length > 2, JSON.stringify(reply));
    },

    async errors(u) {
      const ask = (words: string) => client.models.generateContent({ model: u.model, contents: QUESTION, config: faulty(words) });
      const bad = await thrown(ApiError, () => ask("status=400; message=no such luck"));
      assert.ok(bad.status === 400 && bad.message.includes("no such luck") && bad.message.includes("INVALID_ARGUMENT"), bad.message);
      assert.equal((await thrown(ApiError, () => ask("status=429; retry-after=7"))).status, 429);
      assert.equal((await thrown(ApiError, () => ask("status=500"))).status, 502);
    },

    // A stream that breaks off after content throws (R15).
    async cut(u) {
      for (const how of ["cut=3", "eof=3", "error=3"]) {
        let seen = 0;
        await thrown(ApiError, async () => {
          for await (const chunk of await client.models.generateContentStream({ model: u.model, contents: QUESTION, config: faulty(how) })) {
            assert.ok(!chunk.candidates?.[0]?.finishReason, how);
            seen++;
          }
        });
        assert.ok(seen, how);
      }
    },
  },
);
