// Asks the admin API. The token is kept for this tab alone and goes along as a header, never in an address.
import { signal } from '@preact/signals';

const kept = 'evergate-admin-token';

/** token opens the admin API; empty: none was given. */
export const token = signal(sessionStorage.getItem(kept) ?? '');

/** locked: the admin API wants a token, or another one than it was given. */
export const locked = signal(false);

export function login(given: string): void {
  sessionStorage.setItem(kept, given);
  token.value = given;
  locked.value = false;
}

export function logout(): void {
  sessionStorage.removeItem(kept);
  token.value = '';
  locked.value = true;
}

/** skew is how far this machine's clock is behind the gateway's, in milliseconds; 0 as long as they agree within two seconds. */
export const skew = signal(0);

/** there is the time by the gateway's clock, which the whole page goes by. */
export const there = (): number => Date.now() + skew.peek();

/** APIError is a refusal of the admin API in its own words, or that it could not be reached (status 0). */
export class APIError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly param = '',
    readonly details: unknown = undefined,
  ) {
    super(message);
  }
}

export const authorization = (): Record<string, string> => (token.value ? { Authorization: `Bearer ${token.value}` } : {});

/** ask sends a request and gives the response, or throws an APIError. A 401 locks the page. */
export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const sent = token.value;
  let res: Response;
  try {
    res = await fetch(path, {
      ...init,
      headers: { Accept: 'application/json', ...(init.headers as Record<string, string>), ...authorization() },
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    });
  } catch (err) {
    if (init.signal?.aborted) throw err;
    throw new APIError(0, 'unreachable', 'The gateway does not answer. Is it running, and does this page come from its address?');
  }
  if (res.ok) {
    noteClock(res.headers.get('Date'));
    return res;
  }
  if (res.status === 401 && sent === token.value) locked.value = true;
  throw await refusal(res);
}

async function refusal(res: Response): Promise<APIError> {
  const text = await res.text().catch(() => '');
  try {
    const body = JSON.parse(text) as { error?: { code?: string; message?: string; param?: string } };
    const e = body.error;
    return new APIError(res.status, e?.code ?? '', e?.message ?? `The gateway answered ${res.status}.`, e?.param ?? '', body);
  } catch {
    return new APIError(res.status, '', `The gateway answered ${res.status}${text ? ': ' + text.slice(0, 500) : ''}`);
  }
}

function noteClock(header: string | null): void {
  const there = header ? Date.parse(header) : NaN;
  if (Number.isNaN(there)) return;
  const d = there - Date.now();
  const seen = Math.abs(d) < 2000 ? 0 : d; // the header has whole seconds
  if (Math.abs(seen - skew.value) > 1000) skew.value = seen;
}

const PATIENCE = 30_000; // ms: a connection that died in silence must not keep a page from being fresh

/** get asks for what a page shows. An answer that does not come, or does not end, is given up. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), PATIENCE);
  const leave = (): void => late.abort();
  signal?.addEventListener('abort', leave);
  if (signal?.aborted) leave();
  try {
    return (await (await ask(path, { signal: late.signal })).json()) as T;
  } catch (err) {
    if (!late.signal.aborted || signal?.aborted) throw err;
    throw new APIError(0, 'timeout', `The gateway did not answer within ${PATIENCE / 1000} seconds.`);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
  }
}

export async function send<T>(method: 'POST' | 'DELETE' | 'PATCH', path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const res = await ask(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body ?? {}),
    signal: signal ?? null,
  });
  const text = await res.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** admin is a path of the admin API, its parts encoded, with a query of those values that are not empty. */
export function admin(parts: string[], query: Record<string, string | number | undefined> = {}): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') q.set(name, String(value));
  const tail = q.toString();
  return '/admin/v1/' + parts.map(encodeURIComponent).join('/') + (tail ? '?' + tail : '');
}
