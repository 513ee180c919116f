// What a page shows of the admin API, kept fresh: asked for anew every so often, and when the live feed says that it has changed.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { APIError, get, locked, there, token } from './client';
import { listen, type Heard } from './live';

export interface Resource<T> {
  data: T | undefined;
  /** error is why the latest try failed; data is then what an earlier one gave. */
  error: APIError | undefined;
  /** at is when data came, ms since 1970 by the gateway's clock; 0: it has not yet. */
  at: number;
  reload: () => void;
}

export interface Freshness {
  /** every: ms between two looks; 0: it is looked at once. */
  every?: number;
  /** on: kinds of events after which it is looked at again. */
  on?: string[];
  /** least: ms between two looks, however many events come. */
  least?: number;
}

const AGAIN = 5_000; // ms after which a page tries again by itself
const PASSING = [0, 429, 503]; // what may pass: no answer, no room, no store

/** useResource asks for a path, as long as the component is there; undefined: not now. */
export function useResource<T>(path: string | undefined, { every = 0, on, least = 300 }: Freshness = {}): Resource<T> {
  const [state, setState] = useState<{ path: string | undefined; data: T | undefined; error: APIError | undefined; at: number }>({
    path,
    data: undefined,
    error: undefined,
    at: 0,
  });
  const look = useRef<() => void>(() => undefined);
  const kinds = (on ?? []).join();
  const opens = token.value + (locked.value ? '!' : '');

  useEffect(() => {
    if (!path || locked.value) return;
    const stop = new AbortController();
    let busy = false;
    let again = false;
    let last = 0;
    let soon: ReturnType<typeof setTimeout> | undefined;

    const now = async (): Promise<void> => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      last = Date.now();
      try {
        const data = await get<T>(path, stop.signal);
        if (!stop.signal.aborted) setState({ path, data, error: undefined, at: there() });
      } catch (err) {
        if (stop.signal.aborted) return;
        const error = err instanceof APIError ? err : new APIError(0, '', String(err));
        setState((s) => (s.path === path ? { ...s, error } : { path, data: undefined, error, at: 0 }));
        if (PASSING.includes(error.status)) later(AGAIN);
      } finally {
        busy = false;
        if (again) {
          again = false;
          later();
        }
      }
    };
    const later = (wait = least): void => {
      soon ??= setTimeout(
        () => {
          soon = undefined;
          void now();
        },
        Math.max(0, last + wait - Date.now()),
      );
    };
    look.current = () => void now();

    void now();
    const heard = (batch: Heard[]): void => {
      // hello: what happened while the feed was away is not known
      if (batch.some((e) => kinds.split(',').includes(e.kind) || e.kind === 'hello' || e.kind === 'lost')) later();
    };
    const deaf = kinds ? listen(heard) : undefined;
    const tick = every ? setInterval(() => document.visibilityState === 'visible' && later(), every) : undefined;
    return () => {
      stop.abort();
      clearTimeout(soon);
      clearInterval(tick);
      deaf?.();
    };
  }, [path, every, kinds, least, opens]);

  return useMemo(
    () => ({
      data: state.path === path ? state.data : undefined,
      error: state.path === path ? state.error : undefined,
      at: state.at,
      reload: () => look.current(),
    }),
    [state, path],
  );
}
