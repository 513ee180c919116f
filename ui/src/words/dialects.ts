// The four dialects of the playground: where a request goes, what it says, and where its text is in what comes back.

export interface Ask {
  model: string;
  system: string;
  prompt: string;
  maxTokens: number;
  stream: boolean;
}

export interface Dialect {
  word: string;
  name: string;
  path: (a: Ask) => string;
  body: (a: Ask) => Record<string, unknown>;
  /** headers that carry the caller's key, and what else it takes. */
  headers: (key: string) => Record<string, string>;
  /** piece is the text in one event of a stream; whole that of a plain answer. */
  piece: (event: Any) => string;
  whole: (answer: Any) => string;
}

/** Any is JSON that somebody else wrote. */
// eslint-disable-next-line
export type Any = any;

const text = (x: unknown): string => (typeof x === 'string' ? x : '');
const list = (x: unknown): Any[] => (Array.isArray(x) ? x : []);
const bearer = (key: string): Record<string, string> => (key ? { Authorization: `Bearer ${key}` } : {});
const gemini = (a: Any): string =>
  list(a?.candidates?.[0]?.content?.parts)
    .filter((p) => !p?.thought)
    .map((p) => text(p?.text))
    .join('');

export const dialects: Dialect[] = [
  {
    word: 'chat',
    name: 'OpenAI chat completions',
    path: () => '/v1/chat/completions',
    body: (a) => ({
      model: a.model,
      messages: [...(a.system ? [{ role: 'system', content: a.system }] : []), { role: 'user', content: a.prompt }],
      max_tokens: a.maxTokens,
      ...(a.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    }),
    headers: bearer,
    piece: (e) => text(e?.choices?.[0]?.delta?.content),
    whole: (r) => text(r?.choices?.[0]?.message?.content),
  },
  {
    word: 'messages',
    name: 'Anthropic messages',
    path: () => '/v1/messages',
    body: (a) => ({
      model: a.model,
      max_tokens: a.maxTokens,
      ...(a.system ? { system: a.system } : {}),
      messages: [{ role: 'user', content: a.prompt }],
      ...(a.stream ? { stream: true } : {}),
    }),
    headers: (key) => ({ 'anthropic-version': '2023-06-01', ...(key ? { 'x-api-key': key } : {}) }),
    piece: (e) => (e?.type === 'content_block_delta' ? text(e.delta?.text) : ''),
    whole: (r) =>
      list(r?.content)
        .map((c) => text(c?.text))
        .join(''),
  },
  {
    word: 'responses',
    name: 'OpenAI responses',
    path: () => '/v1/responses',
    body: (a) => ({
      model: a.model,
      input: a.prompt,
      ...(a.system ? { instructions: a.system } : {}),
      max_output_tokens: a.maxTokens,
      store: false,
      ...(a.stream ? { stream: true } : {}),
    }),
    headers: bearer,
    piece: (e) => (e?.type === 'response.output_text.delta' ? text(e.delta) : ''),
    whole: (r) =>
      list(r?.output)
        .flatMap((o) => list(o?.content))
        .map((c) => (c?.type === 'output_text' ? text(c.text) : ''))
        .join(''),
  },
  {
    word: 'gemini',
    name: 'Gemini generateContent',
    path: (a) =>
      `/v1beta/models/${a.model.split('/').map(encodeURIComponent).join('/')}:${a.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (a) => ({
      contents: [{ role: 'user', parts: [{ text: a.prompt }] }],
      ...(a.system ? { systemInstruction: { parts: [{ text: a.system }] } } : {}),
      generationConfig: { maxOutputTokens: a.maxTokens },
    }),
    headers: (key): Record<string, string> => (key ? { 'x-goog-api-key': key } : {}),
    piece: gemini,
    whole: gemini,
  },
];

/** failure is what an event says that ends a stream with an error, in whichever dialect; empty: it says none. */
export function failure(e: Any): string {
  const error = e?.error ?? (e?.type === 'response.failed' ? e.response?.error : undefined);
  if (!error) return '';
  return text(error.message) || 'The stream ended with an error.';
}

/** curl is a request as a command for a shell; the key is named, not shown. */
export function curl(address: string, d: Dialect, a: Ask, key: boolean): string {
  const quote = (s: string): string => `'${s.replaceAll("'", `'\\''`)}'`;
  const headers = { 'content-type': 'application/json', ...d.headers('') };
  const lines = [`curl -sN ${quote(address + d.path(a))}`, ...Object.entries(headers).map(([n, v]) => `-H ${quote(`${n}: ${v}`)}`)];
  if (key) lines.push('-H "Authorization: Bearer $EVERGATE_KEY"');
  lines.push(`-d ${quote(JSON.stringify(d.body(a)))}`);
  return lines.join(' \\\n  ');
}
