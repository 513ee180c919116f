import assert from 'node:assert/strict';
import test, { mock } from 'node:test';

const globals = globalThis as unknown as Record<string, unknown>;
globals['sessionStorage'] = { getItem: () => null };

// A connection that died without a word would else keep a page from ever asking again.
test('an answer that never comes is given up, and says so; one that is not wanted any more is not called late', async () => {
  globals['fetch'] = (_: string, init: RequestInit) =>
    new Promise((_resolve, reject) => init.signal?.addEventListener('abort', () => reject(new Error('aborted'))));
  const { get, APIError } = await import('../src/api/client');
  mock.timers.enable({ apis: ['setTimeout'] });
  const late = get('/admin/v1/health').then(
    () => undefined,
    (err: unknown) => err,
  );
  mock.timers.tick(30_000);
  const err = await late;
  assert.ok(err instanceof APIError && err.code === 'timeout', String(err));
  const stop = new AbortController();
  const left = get('/admin/v1/health', stop.signal).then(
    () => undefined,
    (err: unknown) => err,
  );
  stop.abort();
  assert.ok(!((await left) instanceof APIError));
  mock.timers.reset();
});
