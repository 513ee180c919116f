import assert from 'node:assert/strict';
import test from 'node:test';
import type { Step } from '../src/api/types';
import { layout, outcome, whyWords } from '../src/words/trail';

const step = (s: Partial<Step>): Step => ({
  provider: 'a',
  model: 'm',
  credential: '',
  skipped: false,
  status: 200,
  reason: 'ok',
  why: 'first',
  until: null,
  offset_ms: 0,
  duration_ms: 0,
  first_content_ms: null,
  ...s,
});

test('attempts stand where they were, with the wait between them', () => {
  const l = layout({
    duration_ms: 1000,
    steps: [
      step({ duration_ms: 200, status: 503, reason: 'upstream_error' }),
      step({ offset_ms: 500, duration_ms: 500, first_content_ms: 100 }),
    ],
  });
  assert.equal(l.total, 1000);
  assert.deepEqual(
    l.bars.map((b) => [b.kind, b.from, b.length, b.first]),
    [
      ['failed', 0, 0.2, undefined],
      ['answered', 0.5, 0.5, 0.6],
    ],
  );
  assert.deepEqual(l.waits, [{ from: 0.2, length: 0.3, ms: 300 }]);
});

test('a hedge beside the first leaves no wait, and what it outran is not a failure', () => {
  const l = layout({
    duration_ms: 400,
    steps: [step({ duration_ms: 400, reason: 'cancelled' }), step({ offset_ms: 100, duration_ms: 300, why: 'hedge' })],
  });
  assert.deepEqual(
    l.bars.map((b) => b.kind),
    ['outrun', 'answered'],
  );
  assert.deepEqual(l.waits, []);
});

test('a skip takes no time, and does not make a wait', () => {
  const l = layout({
    duration_ms: 100,
    steps: [step({ skipped: true, reason: 'circuit_open', status: 0 }), step({ offset_ms: 50, duration_ms: 50 })],
  });
  assert.deepEqual(
    l.bars.map((b) => [b.kind, b.length]),
    [
      ['skipped', 0],
      ['answered', 0.5],
    ],
  );
  assert.deepEqual(l.waits, []);
});

test('figures that cannot be do no harm', () => {
  const l = layout({ duration_ms: 0, steps: [step({ offset_ms: -5, duration_ms: -1 }), step({ offset_ms: 30, duration_ms: 10 })] });
  assert.equal(l.total, 40);
  for (const b of l.bars) assert.ok(b.from >= 0 && b.from + b.length <= 1);
  assert.deepEqual(layout({ duration_ms: 5, steps: [] }).bars, []);
});

test('words', () => {
  assert.equal(outcome(step({ status: 503, reason: 'upstream_error' })), '503 upstream error');
  assert.equal(outcome(step({ skipped: true, reason: 'circuit_open' })), 'skipped: circuit open');
  assert.equal(outcome(step({ status: 0, reason: 'timeout' })), 'timeout');
  assert.equal(whyWords('something_new'), 'something new');
});
