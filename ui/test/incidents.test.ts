import assert from 'node:assert/strict';
import test from 'node:test';
import type { Entry } from '../src/api/types';
import { guardWords, incidents, spells } from '../src/words/incidents';

let n = 0;
const entry = (second: number, e: Partial<Entry>): Entry => ({
  row: String(n++).padStart(4, '0'),
  at: new Date(1e12 + second * 1000).toISOString(),
  instance: 'i',
  kind: 'guard',
  provider: 'a',
  guard: 'circuit_breaker',
  ...e,
});
const at = (second: number): number => 1e12 + second * 1000;
const brief = (entries: Entry[], now: number) =>
  incidents(entries, at(now)).map((i) => [
    i.provider,
    (i.from - 1e12) / 1000,
    i.to === undefined ? undefined : (i.to - 1e12) / 1000,
    i.entries.length,
  ]);

test('from the opening to the closing, with half-open between', () => {
  const list = [
    entry(0, { to: 'open', request_id: 'r1', reason: 'circuit_open', trip: 'failures' }),
    entry(5, { to: 'half_open' }),
    entry(5.1, { to: 'open', request_id: 'r2' }),
    entry(15, { to: 'half_open' }),
    entry(16, { to: 'closed' }),
  ];
  assert.deepEqual(brief(list.slice().reverse(), 100), [['a', 0, 16, 5]]);
  assert.deepEqual(incidents(list, at(100))[0]?.requests, ['r1', 'r2']);
  assert.deepEqual(incidents(list, at(100))[0]?.reasons, ['failures']);
});

test('one that goes on has no end', () => assert.deepEqual(brief([entry(0, { to: 'open' })], 50), [['a', 0, undefined, 1]]));

test('what comes soon belongs to it, what comes later does not', () => {
  assert.deepEqual(
    brief([entry(0, { to: 'open' }), entry(1, { to: 'closed' }), entry(100, { to: 'open' }), entry(101, { to: 'closed' })], 200),
    [['a', 0, 101, 4]],
  );
  assert.deepEqual(
    brief([entry(0, { to: 'open' }), entry(1, { to: 'closed' }), entry(300, { to: 'open' }), entry(301, { to: 'closed' })], 400),
    [
      ['a', 300, 301, 2],
      ['a', 0, 1, 2],
    ],
  );
});

test('providers have their own', () =>
  assert.deepEqual(brief([entry(0, { to: 'open' }), entry(1, { to: 'open', provider: 'b' }), entry(2, { to: 'closed' })], 9), [
    ['b', 1, undefined, 1],
    ['a', 0, 2, 2],
  ]));

test('a cooldown ends by its time, whether somebody says so or not', () => {
  const cooled = entry(0, { guard: 'credential_cooldown', credential: 'k', to: 'blocked', until: new Date(at(30)).toISOString() });
  assert.deepEqual(brief([cooled], 10), [['a', 0, undefined, 1]]);
  assert.deepEqual(brief([cooled], 31), [['a', 0, 30, 1]]);
  assert.deepEqual(brief([cooled, entry(300, { to: 'open' })], 301), [
    ['a', 300, undefined, 1],
    ['a', 0, 30, 1],
  ]);
});

test('closings, discovery and orders alone are no incident, but belong to one', () => {
  assert.deepEqual(
    brief([entry(0, { to: 'closed' }), entry(1, { kind: 'discovery', to: 'unhealthy' }), entry(2, { kind: 'order', to: 'reset' })], 9),
    [],
  );
  assert.deepEqual(
    brief(
      [
        entry(0, { to: 'open' }),
        entry(1, { kind: 'discovery', to: 'unhealthy' }),
        entry(2, { kind: 'order', to: 'close' }),
        entry(2, { to: 'closed' }),
      ],
      9,
    ),
    [['a', 0, 2, 4]],
  );
});

test('guards by name', () => {
  assert.equal(guardWords({ guard: 'circuit_breaker' }), 'circuit breaker');
  assert.equal(guardWords({ guard: 'model_lockout', model: 'm', credential: 'k' }), 'model lockout (model m, credential k)');
});

test('the spells of each guard', () => {
  const list = [
    entry(0, { to: 'open' }),
    entry(2, { guard: 'credential_cooldown', credential: 'k', to: 'blocked', until: new Date(at(4)).toISOString() }),
    entry(5, { to: 'half_open' }),
    entry(6, { to: 'closed' }),
    entry(7, { to: 'open' }),
  ];
  const i = incidents(list, at(9))[0]!;
  assert.deepEqual(
    spells(i, at(9)).map(([name, s]) => [name, s.map((x) => [x.state, (x.from - 1e12) / 1000, (x.to - 1e12) / 1000])]),
    [
      [
        'circuit breaker',
        [
          ['open', 0, 5],
          ['half_open', 5, 6],
          ['open', 7, 9],
        ],
      ],
      ['credential cooldown (credential k)', [['blocked', 2, 4]]],
    ],
  );
});

test('a block that is prolonged is one spell', () => {
  const cooled = (second: number, until: number, from: string): Entry =>
    entry(second, { guard: 'credential_cooldown', credential: 'k', from, to: 'blocked', until: new Date(at(until)).toISOString() });
  const i = incidents([cooled(0, 10, 'ok'), cooled(5, 20, 'blocked'), cooled(30, 40, 'ok')], at(50))[0]!;
  assert.deepEqual(
    spells(i, at(50)).map(([, s]) => s.map((x) => [(x.from - 1e12) / 1000, (x.to - 1e12) / 1000])),
    [
      [
        [0, 20],
        [30, 40],
      ],
    ],
  );
});
