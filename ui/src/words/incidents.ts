// Puts the transitions of guards together into incidents: from the first guard of a provider that closed its way to the time when
// the last one gave it free, and what came so soon after that it belongs to it.
import type { Entry } from '../api/types';
import { time } from './format';

export interface Incident {
  /** id is the row of its first entry. */
  id: string;
  provider: string;
  from: number;
  /** to is when all guards were clear; undefined: some are not. */
  to: number | undefined;
  /** entries, the oldest first. */
  entries: Entry[];
  /** guards that took part: circuit breaker, credential "b", model lockout of "m". */
  guards: string[];
  /** requests whose attempts brought it about. */
  requests: string[];
  reasons: string[];
}

const SOON = 120_000; // ms in which a new block still belongs to the incident before

const blocks = (e: Entry): boolean => e.kind === 'guard' && (e.to === 'open' || e.to === 'half_open' || e.to === 'blocked');
const clears = (e: Entry): boolean => e.kind === 'guard' && (e.to === 'closed' || e.to === 'ok');
const about = (e: Entry): string => [e.guard, e.model, e.credential].join('|');

export function guardWords(e: Pick<Entry, 'guard' | 'model' | 'credential'>): string {
  const of = [e.model && `model ${e.model}`, e.credential && `credential ${e.credential}`].filter(Boolean).join(', ');
  const name = (e.guard ?? '').replaceAll('_', ' ');
  return of ? `${name} (${of})` : name;
}

interface Open {
  incident: Incident;
  blocked: Map<string, number | undefined>; // guard → when it clears by itself
  idle: number; // when the last guard cleared
}

/** incidents groups entries, given in any order, and gives the newest first. at is now. */
export function incidents(entries: Entry[], at: number): Incident[] {
  const sorted = entries.filter((e) => e.provider).sort((a, b) => (time(a.at) ?? 0) - (time(b.at) ?? 0) || (a.row < b.row ? -1 : 1));
  const open = new Map<string, Open>();
  const out: Incident[] = [];
  for (const e of sorted) {
    const t = time(e.at) ?? 0;
    let o = open.get(e.provider);
    if (o) expire(o, t);
    if (o && o.blocked.size === 0 && t - o.idle > SOON) {
      open.delete(e.provider);
      o = undefined;
    }
    if (!o) {
      if (!blocks(e)) continue;
      o = {
        incident: { id: e.row, provider: e.provider, from: t, to: undefined, entries: [], guards: [], requests: [], reasons: [] },
        blocked: new Map(),
        idle: t,
      };
      open.set(e.provider, o);
      out.push(o.incident);
    }
    take(o, e, t);
  }
  for (const o of open.values()) expire(o, at);
  return out.reverse();
}

function take(o: Open, e: Entry, t: number): void {
  const i = o.incident;
  i.entries.push(e);
  if (e.kind !== 'guard') return;
  add(i.guards, guardWords(e));
  if (e.request_id) add(i.requests, e.request_id);
  if (blocks(e)) {
    // A breaker stays until a probe or an operator closes it; the others clear by time, and not every instance says so.
    o.blocked.set(about(e), e.guard === 'circuit_breaker' ? undefined : time(e.until));
    i.to = undefined;
    const why = e.guard === 'circuit_breaker' ? e.trip : e.reason;
    if (why) add(i.reasons, why);
  } else if (clears(e)) {
    o.blocked.delete(about(e));
    if (o.blocked.size === 0) end(o, t);
  }
}

function expire(o: Open, t: number): void {
  let last = 0;
  for (const [guard, until] of o.blocked) {
    if (until === undefined || until > t) continue;
    o.blocked.delete(guard);
    last = Math.max(last, until);
  }
  if (last > 0 && o.blocked.size === 0) end(o, last);
}

function end(o: Open, t: number): void {
  o.idle = t;
  o.incident.to = t;
}

function add(list: string[], word: string): void {
  if (!list.includes(word)) list.push(word);
}

/** Spell is a time for which a guard was in a state that is not clear. */
export interface Spell {
  state: string;
  from: number;
  to: number;
}

/** spells gives those of each guard of an incident, until at where they go on. */
export function spells(i: Incident, at: number): [string, Spell[]][] {
  const out = new Map<string, Spell[]>();
  const end = i.to ?? at;
  for (const e of i.entries) {
    if (e.kind !== 'guard') continue;
    const name = guardWords(e);
    const list = out.get(name) ?? [];
    out.set(name, list);
    const t = Math.min(time(e.at) ?? i.from, end);
    const last = list[list.length - 1];
    if (last && last.to > t) last.to = t;
    if (blocks(e)) {
      const until = e.guard === 'circuit_breaker' ? undefined : time(e.until);
      const to = Math.min(until ?? end, end);
      if (last && last.state === e.to && last.to >= t)
        last.to = Math.max(t, to); // prolonged
      else list.push({ state: e.to ?? '', from: t, to });
    }
  }
  return [...out];
}
