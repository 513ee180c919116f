import assert from 'node:assert/strict';
import test from 'node:test';
import type { Request } from '../src/api/types';
import { dialects, curl, failure, type Ask } from '../src/words/dialects';
import { matches } from '../src/words/matches';
import { samples } from '../src/words/prometheus';
import { shape, shapeWords, kinds } from '../src/words/shape';

test('samples of one family, their labels unescaped', () => {
  const text =
    '# HELP evergate_x_total no\n# TYPE evergate_x_total counter\nevergate_x_total{provider="a",outcome="o\\"k\\\\\\n"} 3\nevergate_x_total_other{provider="a"} 9\nevergate_x_total 2\nevergate_x_total{broken 1\nevergate_x_total{a="1"} no\n';
  assert.deepEqual(samples(text, 'evergate_x_total'), [
    { labels: { provider: 'a', outcome: 'o"k\\\n' }, value: 3 },
    { labels: {}, value: 2 },
  ]);
});

const request = (r: Partial<Request>): Request =>
  ({
    id: 'ID-1',
    route: 'demo',
    asked: 'demo',
    provider: 'b',
    model: 'm',
    key: 'team',
    status: 200,
    code: '',
    rescued: false,
    trail: 'a/x=503, c/m=circuit_open, b/m=200',
    start: '2026-01-01T00:00:00.000Z',
    duration_ms: 60_000,
    ...r,
  }) as Request;

test('the live tail lets in what the list would', () => {
  const cases: [Partial<Request>, Record<string, string>, boolean][] = [
    [{}, {}, true],
    [{}, { provider: 'b' }, true],
    [{}, { provider: 'a' }, true],
    [{}, { provider: 'c' }, false],
    [{}, { provider: 'a', model: 'm' }, false],
    [{ trail: 'p%2Cq/m%3B=503;drill', provider: '' }, { provider: 'p,q', model: 'm;' }, true],
    [{}, { route: 'other' }, false],
    [{}, { q: 'id-' }, true],
    [{}, { q: 'nothing' }, false],
    [{}, { id: 'ID' }, true],
    [{}, { id: 'D-' }, false],
    [{ drill: '' }, { drill: 'true' }, false],
    [{ drill: 'd1' }, { drill: 'true' }, true],
    [{ drill: 'd1' }, { drill: 'd2' }, false],
    [{ drill: 'd1 d2' }, { drill: 'd2' }, true],
    [{ status: 503, code: 'all_providers_failed' }, { failed: 'true', status: '5xx' }, true],
    [{ status: 200, code: 'upstream_cut' }, { failed: 'true' }, true],
    [{ status: 404, code: 'model_not_found' }, { failed: 'true' }, false],
    [{ status: 429 }, { status: '429' }, true],
    [{ status: 429 }, { status: '5xx' }, false],
    [{}, { rescued: 'true' }, false],
    [{}, { to: '2025-01-01T00:00:00Z' }, false],
    [{}, { to: '2026-01-01T00:00:30Z' }, false], // it ended after that
    [{}, { to: '2027-01-01T00:00:00Z' }, true],
  ];
  for (const [r, f, want] of cases) assert.equal(matches(request(r), f), want, JSON.stringify([r, f]));
});

test('every dialect finds its text', () => {
  const events: Record<string, [unknown, unknown]> = {
    chat: [{ choices: [{ delta: { content: 'hi' } }] }, { choices: [{ message: { content: 'hi' } }] }],
    messages: [
      { type: 'content_block_delta', delta: { type: 'text_delta', text: 'hi' } },
      {
        content: [
          { type: 'thinking', thinking: 'x' },
          { type: 'text', text: 'hi' },
        ],
      },
    ],
    responses: [
      { type: 'response.output_text.delta', delta: 'hi' },
      { output: [{ type: 'message', content: [{ type: 'output_text', text: 'hi' }] }] },
    ],
    gemini: [
      { candidates: [{ content: { parts: [{ text: 'x', thought: true }, { text: 'hi' }] } }] },
      { candidates: [{ content: { parts: [{ text: 'hi' }] } }] },
    ],
  };
  for (const d of dialects) {
    const [piece, whole] = events[d.word] ?? [];
    assert.equal(d.piece(piece), 'hi', d.word);
    assert.equal(d.whole(whole), 'hi', d.word);
    for (const odd of [undefined, null, 3, [], {}, { choices: 1, content: 2, output: [null], candidates: [{}] }]) {
      assert.equal(d.piece(odd), '');
      assert.equal(d.whole(odd), '');
    }
  }
});

test('a model is encoded in an address, and a prompt in a command', () => {
  const a: Ask = { model: "a/b c?'", system: '', prompt: "it's", maxTokens: 5, stream: true };
  const gemini = dialects.find((d) => d.word === 'gemini')!;
  assert.equal(gemini.path(a), "/v1beta/models/a/b%20c%3F':streamGenerateContent?alt=sse");
  assert.ok(curl('http://x', dialects[0]!, a, true).includes(`it'\\''s`));
  assert.ok(!curl('http://x', dialects[0]!, a, false).includes('EVERGATE_KEY'));
});

test('every fault of the form says what it is', () => {
  const form = { status: '529', retryAfter: '30s', latency: '2s', answer: 'html', events: '1' };
  for (const k of kinds) assert.ok(shapeWords(shape(k.word, form)).length > 3, k.word);
  assert.equal(shapeWords(shape('status', form)), 'status 529, retry after 30s, 2s late');
  assert.deepEqual(shape('cut_after', { ...form, latency: '' }), { cut_after: 1 });
  assert.deepEqual(shape('latency', form), { latency: '2s' });
  assert.equal(shapeWords(undefined), '');
});

test('an error within a stream is told in the words that it has', () => {
  const said = 'the stream broke';
  for (const e of [
    { error: { message: said, code: 'x' } },
    { type: 'error', error: { type: 'api_error', message: said } },
    { type: 'response.failed', response: { error: { message: said } } },
    { error: { code: 502, message: said, status: 'UNAVAILABLE' } },
  ])
    assert.equal(failure(e), said);
  for (const none of [
    undefined,
    null,
    3,
    {},
    { error: null },
    { choices: [{ delta: { content: 'error' } }] },
    { type: 'response.completed', response: { error: null } },
  ])
    assert.equal(failure(none), '');
  assert.equal(failure({ error: {} }), 'The stream ended with an error.');
});
