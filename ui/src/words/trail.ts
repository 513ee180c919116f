// Where the steps of a request's trail stand on a line from its start to its end.
import type { FullRequest, Step } from '../api/types';
import { own } from './own';

export type Kind = 'answered' | 'failed' | 'outrun' | 'skipped';

export interface Bar {
  step: Step;
  kind: Kind;
  /** from, length and first (content) are parts of the whole, 0 to 1; first is undefined where none came. */
  from: number;
  length: number;
  first: number | undefined;
}

/** Wait is a time in which nobody was asked. */
export interface Wait {
  from: number;
  length: number;
  ms: number;
}

export interface Layout {
  /** total is what the whole line stands for, in milliseconds. */
  total: number;
  bars: Bar[];
  waits: Wait[];
}

const SEEN = 0.005; // part of the line that a wait takes to be drawn

export function kindOf(s: Step): Kind {
  if (s.skipped) return 'skipped';
  if (s.reason === 'ok') return 'answered';
  return s.reason === 'cancelled' || s.reason === 'abandoned' ? 'outrun' : 'failed';
}

/** layout puts the steps of a request on its line. Steps are in the order in which they came. */
export function layout(r: Pick<FullRequest, 'duration_ms' | 'steps'>): Layout {
  const steps = r.steps ?? [];
  const total = Math.max(1e-3, r.duration_ms || 0, ...steps.map((s) => Math.max(0, s.offset_ms || 0) + Math.max(0, s.duration_ms || 0)));
  const bars = steps.map((step): Bar => {
    const from = Math.min(1, Math.max(0, step.offset_ms || 0) / total);
    const length = Math.min(1 - from, Math.max(0, step.skipped ? 0 : step.duration_ms || 0) / total);
    const f = step.first_content_ms;
    return { step, kind: kindOf(step), from, length, first: f ? Math.min(1, from + f / total) : undefined };
  });
  return { total, bars, waits: waits(bars, total) };
}

function waits(bars: Bar[], total: number): Wait[] {
  const out: Wait[] = [];
  let busy = 0;
  let asked = false;
  for (const b of bars.filter((b) => b.kind !== 'skipped').sort((x, y) => x.from - y.from)) {
    const length = b.from - busy;
    if (asked && length > SEEN) out.push({ from: busy, length, ms: length * total });
    busy = Math.max(busy, b.from + b.length);
    asked = true;
  }
  return out;
}

const reasons: Record<string, string> = {
  first: 'first choice',
  next_candidate: 'next candidate',
  sibling_credential: 'another credential of the same provider',
  same_target: 'same target once more',
  short_wait: 'after a short wait',
  round: 'next round through the candidates',
  all_blocked: 'last resort: all were blocked',
  hedge: 'hedge: started beside the one before',
  resume: 'resume: goes on with the broken stream',
  mirror: 'mirror: a copy, its answer is thrown away',
};

/** whyWords says why an attempt was made. */
export const whyWords = (why: string): string => own(reasons, why) ?? why.replaceAll('_', ' ');

/** outcome is what a step came to, in a few words. */
export function outcome(s: Step): string {
  if (s.skipped) return `skipped: ${s.reason.replaceAll('_', ' ')}`;
  const word = s.reason.replaceAll('_', ' ');
  return s.status ? `${s.status} ${word}` : word;
}
