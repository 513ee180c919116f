import assert from 'node:assert/strict';
import test from 'node:test';
import type { Key, UsageRow } from '../src/api/types';
import { badLabels, formOf, labelsOf, noKey, patchOf, share, termsOf, words } from '../src/words/keys';
import { axis, stack } from '../src/words/usage';

const key = {
  id: 'abc',
  source: 'store',
  prefix: 'eg_abc',
  state: 'active',
  name: 'ci',
  owner: 'ada',
  team: 'core',
  labels: { app: 'build', cost: '4711' },
  models: ['fast', 'smart'],
  providers: null,
  policies: [],
  routes: [],
  sources: ['10.0.0.0/8'],
  guardrails: [],
  limits: { requests_per_minute: 60, tokens_per_minute: 0, concurrent: 4 },
  budgets: [{ usd: 1.5, tokens: 0, per: 'week', zone: 'Europe/Berlin', warn: 0.5, mode: 'warn' }],
  expires_at: null,
} as unknown as Key;

test('a key goes through its form as it is', () => {
  const { name, expires_at, ...terms } = termsOf(formOf(key));
  assert.equal(name, 'ci');
  assert.equal(expires_at, undefined);
  assert.deepEqual(terms.labels, key.labels);
  assert.deepEqual(terms.models, key.models);
  assert.deepEqual(terms.limits, key.limits);
  assert.deepEqual(terms.budgets, key.budgets);
  assert.deepEqual(terms.sources, key.sources);
});

test('a patch takes away labels and an end that are gone, and keeps the name', () => {
  const f = { ...formOf({ ...key, expires_at: '2027-01-31T00:00:00Z' }), labels: 'app=test', expires: '' };
  const patch = patchOf(key, f) as { name?: string; labels: unknown; expires_at: unknown };
  assert.equal(patch.name, undefined);
  assert.deepEqual(patch.labels, { app: 'test', cost: null });
  assert.equal(patch.expires_at, null);
});

test('labels and lists are read as people write them', () => {
  assert.deepEqual(labelsOf(' app = build,\n x=a=b '), { app: 'build', x: 'a=b' });
  assert.equal(labelsOf('app'), undefined);
  assert.equal(labelsOf('=x'), undefined);
  assert.deepEqual(labelsOf(''), {});
  assert.deepEqual(words(' a, b\nc,, '), ['a', 'b', 'c']);
  assert.deepEqual(termsOf(noKey).models, []);
  assert.equal(termsOf(noKey).limits?.requests_per_minute, 0);
});

test('a share is between nothing and all', () => {
  assert.equal(share(1, 4), 0.25);
  assert.equal(share(9, 4), 1);
  assert.equal(share(-1, 4), 0);
  assert.equal(share(1, 0), 0);
  assert.equal(share(1, null), 0);
});

test('usage over time has every step, the largest groups, and the others as one', () => {
  const row = (at: string, k: string, n: number): UsageRow => ({ at, key: k, requests: n }) as UsageRow;
  const rows = [
    row('2026-01-01T01:00:00Z', 'a', 5),
    row('2026-01-01T03:00:00Z', 'b', 3),
    row('2026-01-01T03:00:00Z', 'c', 1),
    row('2026-01-01T01:00:00Z', 'd', 1),
  ];
  const s = stack(
    rows,
    (r) => r.key ?? '',
    (r) => r.requests,
    Date.parse('2026-01-01T01:20:00Z'),
    Date.parse('2026-01-01T03:10:00Z'),
    3_600_000,
    2,
  );
  assert.equal(s.at.length, 3);
  assert.deepEqual(
    s.series.map((x) => [x.name, x.values]),
    [
      ['a', [5, 0, 0]],
      ['b', [0, 0, 3]],
      ['2 others', [1, 0, 1]],
    ],
  );
});

test('what nobody changed in the form is not in its patch', () => {
  const commas = { ...key, labels: { note: 'a, b', app: 'x' }, models: ['a,b'] } as unknown as Key;
  const patch = patchOf(commas, { ...formOf(commas), owner: 'grace' });
  assert.equal(patch['owner'], 'grace');
  assert.equal(patch['labels'], undefined);
  assert.equal(patch['models'], undefined);
  assert.deepEqual(patch['sources'], undefined);
  assert.equal(badLabels(formOf(commas), commas), false);
  assert.equal(badLabels({ ...formOf(commas), labels: 'a' }, commas), true);
  assert.equal(badLabels({ ...noKey, labels: 'a' }), true);
  assert.deepEqual(patchOf(key, { ...formOf(key), models: 'slow' })['models'], ['slow']);
});

test('a label may be called as what every object has', () => {
  const k = { ...key, labels: { constructor: 'x', app: 'y' } } as unknown as Key;
  assert.deepEqual(patchOf(k, { ...formOf(k), labels: 'app=y' })['labels'], { app: 'y', constructor: null });
});

test('a budget keeps when it warns, whichever is taken away before it', () => {
  const two = {
    ...key,
    budgets: [
      { ...key.budgets![0]!, warn: 0.5 },
      { ...key.budgets![0]!, per: 'day', warn: 0 },
    ],
  } as Key;
  const f = formOf(two);
  const budgets = patchOf(two, { ...f, budgets: f.budgets.slice(1) })['budgets'] as { per: string; warn: number }[];
  assert.deepEqual(
    budgets.map((b) => [b.per, b.warn]),
    [['day', 0]],
  );
});

test('days of usage are those of UTC, wherever the page is looked at', () => {
  const zone = process.env['TZ'];
  process.env['TZ'] = 'America/New_York';
  try {
    const midnight = Date.UTC(2026, 0, 31);
    assert.equal(axis(86_400_000, '720h')(midnight), '2026-01-31');
    assert.equal(axis(3_600_000, '168h')(midnight), '2026-01-30 19:00');
    assert.equal(axis(3_600_000, '24h')(midnight), '19:00');
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  }
});
