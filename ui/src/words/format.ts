// Numbers, money and times as people read them, with their units. What is not known is a dash.

export const dash = '–';

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

type Maybe<T> = T | null | undefined;

const known = (n: Maybe<number>): n is number => typeof n === 'number' && Number.isFinite(n);

/** count: 12,345. */
export const count = (n: Maybe<number>): string => (known(n) ? whole.format(n) : dash);

/** compact: 12.3K, for tokens and axes. */
export const compact = (n: Maybe<number>): string => (known(n) ? (Math.abs(n) < 1000 ? decimal(n, 1) : short.format(n)) : dash);

/** decimal: at most so many digits behind the point. */
export const decimal = (n: Maybe<number>, digits = 2): string =>
  known(n) ? n.toLocaleString('en', { maximumFractionDigits: digits }) : dash;

/** ms: 412 ms, 2.21 s, 3 min 5 s, 2 h 4 min, 5 d 3 h. */
export function ms(n: Maybe<number>): string {
  if (!known(n)) return dash;
  const sign = n < 0 ? '−' : '';
  n = Math.abs(n);
  if (n < 1) return n === 0 ? '0 ms' : `${sign}${n.toFixed(2)} ms`;
  if (n < 10) return `${sign}${decimal(n, 1)} ms`;
  if (n < 999.5) return `${sign}${Math.round(n)} ms`;
  if (n < 59_950) return `${sign}${decimal(n / 1000, n < 9_995 ? 2 : 1)} s`;
  return sign + seconds(Math.round(n / 1000));
}

/** bucketed: a percentile read off a histogram whose first bucket ends at 100 ms, and which tells no more below that. */
export const bucketed = (n: Maybe<number>): string => (known(n) && n < 100 ? '< 100 ms' : ms(n));

/** seconds: a countdown's words, without parts of a second. */
export function seconds(s: number): string {
  if (s < 60) return `${s} s`;
  const parts: [number, string][] = [
    [Math.floor(s / 86_400), 'd'],
    [Math.floor(s / 3600) % 24, 'h'],
    [Math.floor(s / 60) % 60, 'min'],
    [s % 60, 's'],
  ];
  const first = parts.findIndex(([n]) => n > 0);
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(' ');
}

/** percent of a part from 0 to 1. Close to 1 it shows as many digits as it takes to tell it from 1. */
export function percent(part: Maybe<number>): string {
  if (!known(part)) return dash;
  const p = part * 100;
  if (p === 100 || p === 0) return `${p} %`;
  for (let digits = p > 99 ? 2 : 1; digits < 4; digits++) {
    const text = p.toFixed(digits);
    if (Number(text) !== 100) return `${text} %`;
  }
  return p > 99 ? '99.999 %' : `${p.toFixed(3)} %`;
}

/** dollars: as many digits as tell something; null: there is no price for it. */
export function dollars(n: Maybe<number>): string {
  if (n === null) return 'unpriced';
  if (!known(n)) return dash;
  if (n === 0) return '$0';
  const size = Math.abs(n);
  if (size < 0.000_000_1) return '< $0.0000001';
  const digits = size >= 1 ? 2 : Math.min(7, 2 - Math.floor(Math.log10(size)));
  const text = n.toFixed(digits);
  return (
    '$' +
    (size >= 1000
      ? Number(text).toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
      : text.replace(/(\.\d\d\d*?)0+$/, '$1'))
  );
}

/** rate: 12.3 /s */
export const rate = (n: Maybe<number>): string => (known(n) ? `${decimal(n, n < 1 ? 2 : 1)} /s` : dash);

/** milliseconds since 1970 of an API time; undefined if there is none, or it is none. */
export function time(at: Maybe<string>): number | undefined {
  if (!at) return undefined;
  const t = Date.parse(at);
  return Number.isNaN(t) ? undefined : t;
}

const pad = (n: number): string => String(n).padStart(2, '0');

/** clock: 14:03:22 local time; with the day where it is not today's. */
export function clock(t: number, now: number): string {
  const d = new Date(t);
  const hms = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
  return d.toDateString() === new Date(now).toDateString() ? hms : `${day(t)} ${hms}`;
}

/** day: 2026-01-31 in local time. */
export function day(t: number): string {
  const d = new Date(t);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;
}

/** hourMinute: 14:03, for axes. */
export function hourMinute(t: number): string {
  const d = new Date(t);
  return `${pad(d.getHours())}:${pad(d.getMinutes())}`;
}

/** utc: 2026-01-31 14:03:22.123 UTC */
export const utc = (t: number): string => new Date(t).toISOString().replace('T', ' ').replace('Z', ' UTC');

/** left: whole seconds until t, at least 0. It rounds up, so that 0 means that the time has come. */
export const left = (t: number, now: number): number => Math.max(0, Math.ceil((t - now) / 1000));

/** words of an enumeration: half_open becomes half open. */
export const spaced = (word: string): string => word.replaceAll('_', ' ');

/** plural: 1 request, 2 requests. */
export const plural = (n: number, one: string, many = one + 's'): string => `${count(n)} ${n === 1 ? one : many}`;
