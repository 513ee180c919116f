import assert from 'node:assert/strict';
import test from 'node:test';
import type { Provider } from '../src/api/types';

const globals = globalThis as unknown as Record<string, unknown>;
globals['sessionStorage'] ??= { getItem: () => null };

const provider = (p: Partial<Provider>): Provider =>
  ({
    status: 'healthy',
    breaker: { state: 'closed' },
    credentials: { default: { state: 'ok' } },
    lockouts: [],
    ...p,
  }) as unknown as Provider;

test('a provider that is turned off has no trouble, as nobody wants anything of it', async () => {
  const { troubled } = await import('../src/state');
  assert.equal(troubled(provider({})), false);
  assert.equal(troubled(provider({ status: 'unhealthy' })), true);
  assert.equal(troubled(provider({ status: 'unhealthy', disabled: true })), false);
  assert.equal(troubled(provider({ breaker: { state: 'half_open' } as Provider['breaker'] })), true);
});

test('an answer is as old as the clock says that countdowns go by', async () => {
  globals['fetch'] = () =>
    Promise.resolve(new Response('{}', { status: 200, headers: { Date: new Date(Date.now() + 3_600_000).toUTCString() } }));
  const { get, there } = await import('../src/api/client');
  assert.ok(Math.abs(there() - Date.now()) < 1000);
  await get('/admin/v1/health');
  assert.ok(Math.abs(there() - Date.now() - 3_600_000) < 3000, String(there() - Date.now()));
});
