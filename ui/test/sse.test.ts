import assert from 'node:assert/strict';
import test from 'node:test';
import { Splitter, type Message } from '../src/api/sse';

const stream =
  'id: 1\nevent: hello\ndata: {"a":1}\n\n: ping\n\nid: 2\r\nevent: guard\r\ndata: one\r\ndata: two\r\n\r\ndata\n\ndata:no space\rid: 3\r\rid: a\0b\ndata: x\n\nevent: unfinished\ndata: y\n';
const want: Message[] = [
  { event: 'hello', data: '{"a":1}', id: '1' },
  { event: 'guard', data: 'one\ntwo', id: '2' },
  { event: 'message', data: '', id: '2' },
  { event: 'message', data: 'no space', id: '3' },
  { event: 'message', data: 'x', id: '3' },
];

test('events are the same however the stream is cut', () => {
  for (let size = 1; size <= stream.length; size++) {
    const s = new Splitter();
    const got: Message[] = [];
    for (let at = 0; at < stream.length; at += size) got.push(...s.push(stream.slice(at, at + size)));
    assert.deepEqual(got, want, `in pieces of ${size}`);
  }
});

test('an event that does not end is refused', () => {
  const s = new Splitter();
  let refused = false;
  try {
    for (let i = 0; i < 200; i++) s.push('data: ' + 'x'.repeat(65_536) + '\n');
  } catch {
    refused = true;
  }
  assert.ok(refused);
});
