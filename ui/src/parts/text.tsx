// Times, names and marks within text.
import { useComputed } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { clock, dash, left, ms, seconds, time, utc } from '../words/format';
import { moment, now } from './now';

/** Time shows an API time as local time, and as UTC to who points at it. */
export function Time({ at }: { at: string | null | undefined }) {
  const t = time(at);
  if (t === undefined) return <span>{dash}</span>;
  return (
    <time dateTime={new Date(t).toISOString()} title={utc(t)}>
      {clock(t, now.peek())}
    </time>
  );
}

/** Countdown shows the whole seconds until a time, and then what is said to come after it. */
export function Countdown({ to, over = 'now' }: { to: string | null | undefined; over?: string }) {
  const t = time(to);
  const s = useComputed(() => (t === undefined ? -1 : left(t, moment())));
  if (t === undefined) return <span>{dash}</span>;
  return (
    <time class="countdown" dateTime={new Date(t).toISOString()} title={utc(t)} data-testid="countdown">
      {s.value > 0 ? seconds(s.value) : over}
    </time>
  );
}

/** Ago shows how long a time is past. */
export function Ago({ at }: { at: string | number | null | undefined }) {
  const t = typeof at === 'number' ? at : time(at);
  const s = useComputed(() => (t === undefined ? -1 : Math.max(0, Math.floor((now.value - t) / 1000))));
  if (t === undefined) return <span>{dash}</span>;
  return (
    <time dateTime={new Date(t).toISOString()} title={utc(t)}>
      {s.value < 1 ? 'just now' : `${seconds(s.value)} ago`}
    </time>
  );
}

export const Ms = ({ n }: { n: number | null | undefined }) => <span class="num">{n ? ms(n) : dash}</span>;

const LONG = 100; // characters of a name that a table may not show whole

const name = (text: string): { class: string; title?: string } =>
  text.length > LONG ? { class: 'name long', title: text } : { class: 'name' };

/** Name is what somebody gave a thing; where a table cuts it, it shows whole to who points at it. */
export const Name = ({ of, note = '' }: { of: string | undefined; note?: string }) => <span {...name(of ?? '')}>{(of ?? '') + note}</span>;

/** Target is a provider and a model of it. */
export const Target = ({ provider, model }: { provider: string; model?: string | undefined }) => (
  <span {...name(provider + (model ?? ''))}>
    {provider || dash}
    {model ? <span class="quiet"> / {model}</span> : null}
  </span>
);

export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'info';

const signs: Record<Tone, string> = { good: '●', warn: '▲', bad: '■', quiet: '○', info: '◆' };

/** Mark is a state in a word, with a sign and a colour of its own. */
export const Mark = ({ tone, children, title }: { tone: Tone; children: ComponentChildren; title?: string | undefined }) => (
  <span class={`mark ${tone}`} title={title}>
    <span aria-hidden="true" class="sign">
      {signs[tone]}
    </span>
    {children}
  </span>
);

export const statusTone = (status: number): Tone =>
  status === 0 ? 'quiet' : status < 400 ? 'good' : status === 499 ? 'quiet' : status < 500 ? 'warn' : 'bad';

export const breakerTone = (state: string): Tone => (state === 'closed' ? 'good' : state === 'half_open' ? 'warn' : 'bad');

export const discoveryTone = (status: string): Tone =>
  status === 'healthy' ? 'good' : status === 'degraded' ? 'warn' : status === 'unhealthy' ? 'bad' : 'quiet';
