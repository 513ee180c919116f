import assert from 'node:assert/strict';
import test from 'node:test';
import { extend, put, renew, type List } from '../src/words/pages';

type Row = { row: string };

/** rows from one number down to another; rows sort by their text. */
const rows = (from: number, to: number): Row[] =>
  Array.from({ length: Math.max(0, from - to + 1) }, (_, i) => ({ row: String(from - i).padStart(4, '0') }));
const row = (n: number): string => String(n).padStart(4, '0');
const said = (l: List<Row>): string => `${l.rows.map((r) => Number(r.row)).join(' ')}${l.next ? ` then ${Number(l.next)}` : ''}`;

/** whole: no row is missing between the first of a list and where it goes on. */
function whole(l: List<Row>): void {
  l.rows.forEach((r, i) => i > 0 && assert.equal(Number(r.row), Number(l.rows[i - 1]?.row) - 1, said(l)));
  assert.ok(l.rows.length <= l.room, said(l));
  if (l.next) assert.equal(l.rows[l.rows.length - 1]?.row, l.next, said(l));
}

test('what the live tail pushes out is on the next page', () => {
  let l: List<Row> = { rows: rows(10, 8), next: row(8), room: 3 };
  l = put(l, rows(12, 11));
  assert.equal(said(l), '12 11 10 then 10');
  l = extend({ ...l, room: 6 }, row(10), rows(9, 7), row(7));
  assert.equal(said(l), '12 11 10 9 8 7 then 7');
  l = put(l, rows(14, 12));
  assert.equal(said(l), '14 13 12 11 10 9 then 9');
  whole(l);
});

test('a page that is late does not leave a hole', () => {
  const l = put({ rows: rows(10, 8), next: row(8), room: 3 }, rows(11, 11));
  assert.equal(said(extend(l, row(8), rows(7, 5), row(5))), '11 10 9 then 9');
});

test('rows that come again, and older ones of another page, are not told twice', () => {
  const l: List<Row> = { rows: rows(10, 8), next: row(8), room: 9 };
  assert.equal(said(put(l, rows(11, 6))), '11 10 9 8 then 8');
  assert.equal(said(put({ rows: [], next: '', room: 2 }, rows(3, 1))), '3 2 then 2');
});

test('after a gap the list begins again', () => {
  const l: List<Row> = { rows: rows(10, 1), next: '', room: 12 };
  assert.equal(said(renew(l, rows(40, 38), row(38))), '40 39 38 then 38');
  assert.equal(said(renew(l, rows(12, 10), row(10))), '12 11 10 9 8 7 6 5 4 3 2 1');
  assert.equal(said(renew(l, rows(13, 10), row(10))), '13 12 11 10 9 8 7 6 5 4 3 2 then 2');
  assert.equal(said(renew({ rows: [], next: '', room: 3 }, rows(2, 1), '')), '2 1');
});

test('whatever comes in whatever order, no row is missing', () => {
  let seed = 7;
  const upTo = (n: number): number => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 200; round++) {
    let newest = 20;
    const page = (below: number, size: number): [Row[], string] => {
      const end = Math.max(1, below - size);
      return [rows(below - 1, end), end > 1 ? row(end) : ''];
    };
    let l: List<Row> = { rows: page(newest + 1, 5)[0], next: page(newest + 1, 5)[1], room: 5 };
    let asked = '';
    for (let step = 0; step < 30; step++) {
      const more = upTo(4);
      switch (upTo(4)) {
        case 0:
          l = put(l, rows(newest + more, newest + 1));
          newest += more;
          break;
        case 1:
          newest += upTo(9);
          l = renew(l, ...page(newest + 1, 5));
          break;
        case 2:
          asked = l.next;
          l = { ...l, room: l.room + 5 };
          break;
        default:
          if (asked) l = extend(l, asked, ...page(Number(asked), 5));
      }
      whole(l);
    }
  }
});
