// Lists that go on: rows of the admin API, the newest first. Some come by the live feed, older ones page by page; between the newest
// row of a list and where it goes on no row is missing.

export interface List<T extends { row: string }> {
  rows: T[];
  /** next is the cursor of what is older than the list; empty: there is nothing. */
  next: string;
  /** room is how many rows it has at most. */
  room: number;
}

/** put adds rows, each once. What finds no room is left out at the old end, and the list goes on from there. */
export function put<T extends { row: string }>(list: List<T>, fresh: T[]): List<T> {
  const seen = new Set<string>();
  const all = [...fresh.filter((r) => r.row >= list.next), ...list.rows]
    .filter((r) => !seen.has(r.row) && seen.add(r.row))
    .sort((a, b) => (a.row < b.row ? 1 : a.row > b.row ? -1 : 0));
  const rows = all.slice(0, list.room);
  return { ...list, rows, next: rows.length < all.length ? (rows[rows.length - 1]?.row ?? '') : list.next };
}

/** renew takes the newest rows anew, down to a cursor. Where they do not reach down to those that are there, the list begins again with them. */
export function renew<T extends { row: string }>(list: List<T>, rows: T[], next: string): List<T> {
  const newest = list.rows[0];
  return newest && next <= newest.row ? put(list, rows) : { ...list, rows, next };
}

/** extend adds the page of a cursor; nothing, if the list does not go on there any more. */
export function extend<T extends { row: string }>(list: List<T>, cursor: string, rows: T[], next: string): List<T> {
  if (list.next !== cursor) return list;
  const all = [...list.rows, ...rows.filter((r) => r.row < cursor)];
  return { rows: all, next, room: Math.max(list.room, all.length) };
}
