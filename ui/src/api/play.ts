// Sends a request of the playground to the data plane and reads its answer as it comes. It goes without the admin token: it is what
// any client would send.
import { Splitter } from './sse';
import { failure, type Any, type Ask, type Dialect } from '../words/dialects';

export interface Played {
  status: number;
  headers: [string, string][];
  /** raw is what came, cut where it gets too long to be shown. */
  raw: string;
  text: string;
  /** first and total are ms since the request was sent; first: until the first text. */
  first: number | undefined;
  total: number | undefined;
  error: string;
}

const RAW = 200_000; // characters kept

const shown = (name: string): boolean =>
  name.startsWith('x-evergate-') || ['x-request-id', 'request-id', 'content-type', 'retry-after'].includes(name);

/** play calls update as the answer grows, and gives it whole. */
export async function play(d: Dialect, a: Ask, key: string, stop: AbortSignal, update: (p: Played) => void): Promise<Played> {
  const began = performance.now();
  let p: Played = { status: 0, headers: [], raw: '', text: '', first: undefined, total: undefined, error: '' };
  const change = (c: Partial<Played>): void => {
    p = { ...p, ...c };
    update(p);
  };
  try {
    const res = await fetch(d.path(a), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...d.headers(key) },
      body: JSON.stringify(d.body(a)),
      signal: stop,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    });
    change({ status: res.status, headers: [...res.headers].filter(([n]) => shown(n)) });
    const sse = (res.headers.get('content-type') ?? '').includes('event-stream');
    const reader = res.body?.pipeThrough(new TextDecoderStream()).getReader();
    const splitter = new Splitter();
    let raw = '';
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) break;
      raw += value;
      const events = sse ? splitter.push(value).map((m) => json(m.data)) : [];
      const came = events.map(d.piece).join('');
      change({
        raw: raw.length > RAW ? raw.slice(0, RAW) + '\n…' : raw,
        text: p.text + came,
        first: p.first ?? (came ? performance.now() - began : undefined),
        error: p.error || events.map(failure).join(''),
      });
    }
    change({
      total: performance.now() - began,
      ...(sse ? {} : { text: res.ok ? d.whole(json(raw)) : '', error: res.ok ? '' : message(raw, res.status) }),
    });
  } catch (err) {
    change({
      total: performance.now() - began,
      error: stop.aborted ? 'Stopped.' : `The answer was cut off: ${err instanceof Error ? err.message : String(err)}`,
    });
  }
  return p;
}

function json(text: string): Any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // [DONE], or not ours
  }
}

function message(raw: string, status: number): string {
  const e = json(raw);
  const m = (Array.isArray(e) ? e[0] : e)?.error?.message;
  return typeof m === 'string' ? m : `The gateway answered ${status}.`;
}
