// The live feed: one connection for the whole page, kept up with growing waits. What it hears is handed out in batches, so that a
// thousand events a second cost five updates.
import { signal, type Signal } from '@preact/signals';
import { APIError, ask, locked, token } from './client';
import { Splitter } from './sse';

export type Live = { state: 'connecting' | 'live' | 'reconnecting' | 'away' | 'off'; since: number; message: string };

/** Heard is one event of the feed; data is as its kind has it in api/admin.yaml. */
export interface Heard {
  kind: string;
  data: unknown;
}

/** live is how the feed fares: since when, and what is wrong. */
export const live = signal<Live>({ state: 'connecting', since: Date.now(), message: '' });

/** lost counts events that the gateway left out for this page, as it read too slowly. */
export const lost = signal(0);

const BATCH = 150; // ms between two batches
const KEEP = 5000; // events of a batch; older ones are left out
const QUIET = 40_000; // ms without a sign of life (there is a ping each 15 s)
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;

type Listener = (batch: Heard[]) => void;
const listeners = new Set<Listener>();
let waiting: Heard[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

/** listen hands batches to fn until the function it gives is called. */
export function listen(fn: Listener): () => void {
  listeners.add(fn);
  return () => listeners.delete(fn);
}

function hear(kind: string, text: string): void {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return; // not ours
  }
  if (kind === 'lost') {
    lost.value += (data as { count?: number | null } | null)?.count ?? 0;
  }
  waiting.push({ kind, data });
  if (waiting.length > KEEP) {
    lost.value += KEEP / 2;
    waiting.splice(0, KEEP / 2);
  }
  // A guard's transition is not held back: what an operator looks at must not be late.
  timer ??= setTimeout(hand, kind === 'request' ? BATCH : 0);
}

function hand(): void {
  timer = undefined;
  const batch = waiting;
  waiting = [];
  for (const fn of listeners) fn(batch);
}

const become = (state: Live['state'], message = ''): void => {
  if (live.value.state !== state || live.value.message !== message)
    live.value = { state, since: live.value.state === state ? live.value.since : Date.now(), message };
};

let lastID = '';

// A browser opens six connections to one address, for all tabs together: a page that nobody sees must not hold one of them for long.
const AWAY = 30_000; // ms after which a hidden page lets go
const away = signal(false);
let leaving: ReturnType<typeof setTimeout> | undefined;

function watchPresence(): void {
  addEventListener('pagehide', () => (away.value = true)); // it may be kept, to be shown again
  addEventListener('pageshow', () => (away.value = false));
  document.addEventListener('visibilitychange', () => {
    clearTimeout(leaving);
    if (document.visibilityState === 'hidden') leaving = setTimeout(() => (away.value = true), AWAY);
    else away.value = false;
  });
}

/** connect keeps the feed up for as long as the page is open. */
export async function connect(): Promise<never> {
  watchPresence();
  for (let failures = 0; ;) {
    if (locked.value) {
      become('off', 'Waiting for the admin token.');
      await not(locked);
      failures = 0;
    }
    if (away.value) {
      become('away', 'The page was hidden.');
      await not(away);
      failures = 0;
    }
    let message = '';
    try {
      await read(() => (failures = 0));
      message = 'The gateway ended the connection.';
    } catch (err) {
      if (away.value || (err instanceof APIError && err.status === 401)) continue;
      message = err instanceof APIError ? err.message : 'The connection was lost.';
      if (err instanceof APIError && err.status === 404) lastID = '';
    }
    become('reconnecting', message);
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** failures);
    failures++;
    await pause(wait * (0.7 + Math.random() * 0.6));
  }
}

/** read follows one connection to its end. */
async function read(connected: () => void): Promise<void> {
  const stop = new AbortController();
  let quiet = setTimeout(() => stop.abort(), QUIET);
  const alive = (): void => {
    clearTimeout(quiet);
    quiet = setTimeout(() => stop.abort(), QUIET);
  };
  const asked = token.value;
  const unsubscribe = [token.subscribe((now) => now !== asked && stop.abort()), away.subscribe((is) => is && stop.abort())];
  try {
    const res = await ask('/admin/v1/events', {
      headers: { Accept: 'text/event-stream', ...(lastID && { 'Last-Event-ID': lastID }) },
      signal: stop.signal,
    });
    if (!res.body) throw new APIError(0, '', 'This browser cannot read the live feed.');
    become('live');
    connected();
    const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
    const splitter = new Splitter();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      for (const m of splitter.push(value)) {
        if (m.id) lastID = m.id;
        hear(m.event, m.data);
      }
    }
  } finally {
    clearTimeout(quiet);
    for (const end of unsubscribe) end();
    stop.abort();
  }
}

const pause = (wait: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, wait));

/** not waits until a signal is false. */
function not(is: Signal<boolean>): Promise<void> {
  return new Promise((resolve) => {
    const stop = is.subscribe((yes) => {
      if (yes) return;
      queueMicrotask(() => stop());
      resolve();
    });
  });
}
