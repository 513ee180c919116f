import assert from 'node:assert/strict';
import test from 'node:test';
import { clock, compact, count, dollars, left, ms, percent, seconds, spaced, time, utc } from '../src/words/format';
import { visible } from '../src/words/visible';
import { scale, timeTicks } from '../src/words/scale';

test('durations have a unit that fits', () => {
  const cases: [number | null | undefined, string][] = [
    [null, '–'],
    [undefined, '–'],
    [NaN, '–'],
    [0, '0 ms'],
    [0.04, '0.04 ms'],
    [4.25, '4.3 ms'],
    [412.4, '412 ms'],
    [999.6, '1 s'],
    [2213, '2.21 s'],
    [59_949, '59.9 s'],
    [59_990, '1 min'],
    [185_000, '3 min 5 s'],
    [3_600_000, '1 h'],
    [7_440_000, '2 h 4 min'],
    [442_800_000, '5 d 3 h'],
    [-1500, '−1.5 s'],
  ];
  for (const [n, want] of cases) assert.equal(ms(n), want, String(n));
});

test('a countdown has no parts of a second, and ends at 0', () => {
  assert.equal(seconds(9), '9 s');
  assert.equal(seconds(60), '1 min');
  assert.equal(seconds(86_400 + 30), '1 d');
  assert.equal(left(10_000, 9_001), 1);
  assert.equal(left(10_000, 10_000), 0);
  assert.equal(left(10_000, 99_000), 0);
});

test('availability is never rounded up to 100 %', () => {
  const cases: [number | null, string][] = [
    [1, '100 %'],
    [0, '0 %'],
    [0.5, '50.0 %'],
    [0.9995, '99.95 %'],
    [0.99999, '99.999 %'],
    [0.9999999, '99.999 %'],
    [0.99996, '99.996 %'],
    [null, '–'],
    [-0.5, '-50.0 %'],
  ];
  for (const [n, want] of cases) assert.equal(percent(n), want, String(n));
});

test('money shows as many digits as tell something', () => {
  const cases: [number | null | undefined, string][] = [
    [null, 'unpriced'],
    [undefined, '–'],
    [0, '$0'],
    [0.000012345, '$0.0000123'],
    [0.0012, '$0.0012'],
    [0.5, '$0.50'],
    [1.239, '$1.24'],
    [1234567.5, '$1,234,567.50'],
    [1e-9, '< $0.0000001'],
  ];
  for (const [n, want] of cases) assert.equal(dollars(n), want, String(n));
});

test('counts', () => {
  assert.equal(count(1234567), '1,234,567');
  assert.equal(compact(999), '999');
  assert.equal(compact(12345), '12.3K');
  assert.equal(spaced('half_open_now'), 'half open now');
});

test('times that are none are not known', () => {
  for (const none of [null, undefined, '', 'soon']) assert.equal(time(none), undefined);
  assert.equal(utc(Date.UTC(2026, 0, 31, 14, 3, 22, 123)), '2026-01-31 14:03:22.123 UTC');
  const t = new Date(2026, 0, 31, 14, 3, 22).getTime();
  assert.equal(clock(t, t + 1000), '14:03:22');
  assert.equal(clock(t, t + 86_400_000), '2026-01-31 14:03:22');
});

test('what would not be seen shows as an escape', () => {
  const cases: [string, string][] = [
    ['plain <b>text</b> ü 漢 👩‍🚀'.replace('\u200d', ''), 'plain <b>text</b> ü 漢 👩🚀'],
    ['a\nb\tc', 'a\nb\tc'],
    ['\u0000\u001b[31m\u007f\u0085', '\\u0000\\u001b[31m\\u007f\\u0085'],
    ['abc\u202edcba\u2066x\u2069', 'abc\\u202edcba\\u2066x\\u2069'],
    ['a\u200bb\ufeffc\u00add', 'a\\u200bb\\ufeffc\\u00add'],
    ['line\u2028sep', 'line\\u2028sep'],
    ['\u{e0041}', '\\u{e0041}'],
    ['lone \ud800 half', 'lone \\ud800 half'],
    ['cr\rlf', 'cr\\u000dlf'],
  ];
  for (const [text, want] of cases) assert.equal(visible(text), want);
});

test('axes are round', () => {
  assert.deepEqual(scale(0, 4), [0, 1]);
  assert.deepEqual(scale(NaN, 4), [0, 1]);
  assert.deepEqual(scale(7, 4), [0, 2, 4, 6, 8]);
  assert.deepEqual(scale(100, 4), [0, 25, 50, 75, 100]);
  assert.deepEqual(scale(0.003, 3), [0, 0.001, 0.002, 0.003]);
  const minutes = Array.from({ length: 60 }, (_, i) => new Date(2026, 0, 1, 10, i).getTime());
  assert.deepEqual(timeTicks(minutes, 6), [0, 10, 20, 30, 40, 50]);
  assert.deepEqual(timeTicks([], 5), []);
  assert.deepEqual(timeTicks([5], 5), [0]);
});
