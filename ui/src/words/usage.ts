// Usage over time: rows of the admin API as series of a chart, the largest groups by themselves and the rest together.
import type { UsageRow } from '../api/types';
import { day, hourMinute } from './format';

export interface Stack {
  at: number[];
  series: { name: string; values: number[] }[];
}

/** stack puts rows by time and group into series: the most groups, by their sums, and all others as one. Steps in which nothing was are 0. */
export function stack(
  rows: UsageRow[],
  name: (r: UsageRow) => string,
  value: (r: UsageRow) => number,
  from: number,
  to: number,
  step: number,
  most = 5,
): Stack {
  const at: number[] = [];
  for (let t = Math.floor(from / step) * step; t <= to && at.length < 2000; t += step) at.push(t);
  const sums = new Map<string, number>();
  for (const r of rows) sums.set(name(r), (sums.get(name(r)) ?? 0) + value(r));
  const order = [...sums].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([n]) => n);
  const alone = order.length <= most + 1 ? order : order.slice(0, most);
  const series = alone.map((n) => ({ name: n, values: at.map(() => 0) }));
  const rest = { name: `${order.length - alone.length} others`, values: at.map(() => 0) };
  const places = new Map(series.map((s) => [s.name, s]));
  for (const r of rows) {
    const t = r.at ? Date.parse(r.at) : NaN;
    const i = Math.floor((t - (at[0] ?? 0)) / step);
    const into = (places.get(name(r)) ?? rest).values;
    if (i >= 0 && i < at.length) into[i] = (into[i] ?? 0) + value(r);
  }
  if (order.length > alone.length) series.push(rest);
  return { at, series };
}

const DAY = 86_400_000;

/** axis writes the times of a chart whose steps are so long. Days are those of UTC, as the admin API adds them up; all others stand in local time. */
export function axis(length: number, from: string): (t: number) => string {
  if (length >= DAY) return (t) => new Date(t).toISOString().slice(0, 10);
  return from === '168h' ? (t) => `${day(t)} ${hourMinute(t)}` : hourMinute;
}
