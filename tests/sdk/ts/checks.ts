// What the check scripts of this folder share: where the gateway is, what is behind it, and how results are printed.
//
// Each check prints one line of JSON, {"check", "ms", "error"}; the Go suite that starts a script turns them into tests and
// knows which there must be. A check for each upstream is named "upstream/check".

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export function env(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set`);
  return value;
}

export const URL = env("EVERGATE_URL");

export const CITY = "Paris";
export const WEATHER = "12 degrees, rain"; // what the tool answers
export const INSTRUCTIONS = "You are a weather service. Use your tools.";
export const QUESTION = "What is the weather in Paris?";
export const PARALLEL = QUESTION + " Look in parallel.";
export const DESCRIPTION = "Get the weather of a city";
export const SCHEMA = {
  type: "object" as const,
  properties: { city: { type: "string", description: "A city", enum: ["Paris", "Rome"] } },
  required: ["city"],
  additionalProperties: false,
};
export const NOTHING = { type: "object" as const, properties: {}, additionalProperties: false };

// One transparent pixel.
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

export interface Upstream {
  name: string; // of the provider, which is also that of the dialect it speaks
  model: string; // to ask the gateway for
  embedding_model?: string;
}

export const UPSTREAMS: Upstream[] = JSON.parse(process.env["UPSTREAMS"] ?? "[]");

/** A provider's recorded answer and what any client must understand of it. */
export interface Recording {
  upstream: Upstream;
  file: string;
  streamed: boolean;
  text: string; // contained in it
  calls: [string, unknown][]; // name and arguments
  input: number; // tokens, those from a cache included
  output: number; // tokens, thoughts included
  stop: string; // in the words of OpenAI's chat completions
  thinks: boolean;
}

export function recordings(): Recording[] {
  const rows = JSON.parse(readFileSync(env("RECORDINGS"), "utf8")) as (Partial<Omit<Recording, "upstream">> & { upstream: string; file: string })[];
  return rows.map((row) => ({
    text: "", calls: [], input: 0, output: 0, stop: "", thinks: false, ...row,
    streamed: !row.file.endsWith(".json"),
    upstream: UPSTREAMS.find((u) => u.name === row.upstream)!,
  }));
}

/** The header that tells a simulated provider to misbehave. */
export function fault(words: string): Record<string, string> {
  return { "x-mock-fault": words };
}

export function replay(r: Recording): Record<string, string> {
  return fault("replay=" + r.file);
}

/** The final answer of the scripted conversation quotes the tool. */
export function weather(text: string): void {
  assert.ok(text.includes(WEATHER), text);
}

type Args = string | object | null | undefined;

export function expect(r: Recording, got: { text: string; calls: [string, Args][]; input: number; output: number }): void {
  assert.ok(got.text.includes(r.text), `${r.file}: ${got.text}`);
  const calls = got.calls.map(([name, args]) => [name, typeof args === "string" ? JSON.parse(args) : (args ?? {})]);
  assert.deepEqual(calls, r.calls, r.file);
  assert.deepEqual([got.input, got.output], [r.input, r.output], `${r.file}: tokens`);
}

/** Runs f, which must throw an error of the given class, and gives that error. */
export async function thrown<E>(kind: abstract new (...args: never[]) => E, f: () => Promise<unknown>): Promise<E> {
  try {
    await f();
  } catch (e) {
    assert.ok(e instanceof kind, `${kind.name} expected, got ${e}`);
    return e;
  }
  throw new Error(`no ${kind.name}`);
}

export type Check = () => Promise<void>;
export type UpstreamCheck = (u: Upstream) => Promise<void>;

/** Runs checks once, then others for each upstream. */
export async function run(once: Record<string, Check>, each: Record<string, UpstreamCheck> = {}): Promise<void> {
  for (const [name, check] of Object.entries(once)) await report(name, check);
  for (const [name, check] of Object.entries(each))
    for (const u of UPSTREAMS) await report(`${u.name}/${name}`, () => check(u));
}

async function report(check: string, run: Check): Promise<void> {
  const start = performance.now();
  let error: string | null = null;
  try {
    await run();
  } catch (e) {
    error = e instanceof Error ? (e.stack ?? e.message) : String(e);
  }
  console.log(JSON.stringify({ check, ms: Math.round(performance.now() - start), error }));
}
