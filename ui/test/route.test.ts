import assert from 'node:assert/strict';
import test from 'node:test';
import { href, parse } from '../src/route';

test('there and back', () => {
  for (const id of ['', 'plain', 'a/b', 'a?b#c', '"><script>', 'ü \u202e', '%41', 'javascript:alert(1)']) {
    const address = href('providers', id, { q: 'x&y=z', none: '' });
    assert.ok(address.startsWith('#/'));
    assert.deepEqual(parse(address), { page: 'providers', id, query: { q: 'x&y=z' } });
  }
});

test('anything is an address', () => {
  assert.deepEqual(parse(''), { page: 'overview', id: '', query: {} });
  assert.deepEqual(parse('#'), { page: 'overview', id: '', query: {} });
  assert.deepEqual(parse('#/%ff/%zz?%%%'), { page: '%ff', id: '%zz', query: { '%%%': '' } });
});
