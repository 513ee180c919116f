// A drill's fault, as the admin API has it: one member says which it is.

export interface Shape {
  status?: number;
  body?: string;
  retry_after?: string;
  latency?: string;
  refused?: boolean;
  reset?: boolean;
  timeout?: boolean;
  invalid?: string;
  cut_after?: number;
  stall_after?: number;
  error_event_after?: number;
  garbage_after?: number;
  no_end?: boolean;
}

const events = (n: number): string => `after ${n} content ${n === 1 ? 'event' : 'events'}`;

/** shapeWords says what a fault looks like. */
export function shapeWords(s: Shape | undefined): string {
  if (!s) return '';
  const late = s.latency ? `${s.latency} late` : '';
  const what =
    s.status !== undefined
      ? `status ${s.status}${s.retry_after ? `, retry after ${s.retry_after}` : ''}`
      : s.refused
        ? 'connection refused'
        : s.reset
          ? 'connection reset'
          : s.timeout
            ? 'hangs until the timeout'
            : s.invalid !== undefined
              ? `an answer that is none (${s.invalid})`
              : s.cut_after !== undefined
                ? `stream cut ${events(s.cut_after)}`
                : s.stall_after !== undefined
                  ? `stream stalls ${events(s.stall_after)}`
                  : s.error_event_after !== undefined
                    ? `error event ${events(s.error_event_after)}`
                    : s.garbage_after !== undefined
                      ? `garbage event ${events(s.garbage_after)}`
                      : s.no_end
                        ? 'stream without its end marker'
                        : '';
  return [what, late].filter(Boolean).join(', ');
}

/** Kind is a choice of the form: its word, its name, and which field goes with it. */
export interface Kind {
  word: string;
  name: string;
  needs: 'status' | 'latency' | 'answer' | 'events' | '';
}

export const kinds: Kind[] = [
  { word: 'status', name: 'error status', needs: 'status' },
  { word: 'latency', name: 'late answer', needs: 'latency' },
  { word: 'refused', name: 'connection refused', needs: '' },
  { word: 'reset', name: 'connection reset', needs: '' },
  { word: 'timeout', name: 'no answer until the timeout', needs: '' },
  { word: 'invalid', name: 'an answer that is none', needs: 'answer' },
  { word: 'cut_after', name: 'stream cut', needs: 'events' },
  { word: 'stall_after', name: 'stream stalls', needs: 'events' },
  { word: 'error_event_after', name: 'error event in the stream', needs: 'events' },
  { word: 'garbage_after', name: 'garbage event in the stream', needs: 'events' },
  { word: 'no_end', name: 'stream without its end marker', needs: '' },
];

/** shape builds a fault of what the form has. */
export function shape(word: string, f: { status: string; retryAfter: string; latency: string; answer: string; events: string }): Shape {
  const late = f.latency.trim() ? { latency: f.latency.trim() } : {};
  switch (kinds.find((k) => k.word === word)?.needs) {
    case 'status':
      return { status: Number(f.status), ...(f.retryAfter.trim() ? { retry_after: f.retryAfter.trim() } : {}), ...late };
    case 'answer':
      return { invalid: f.answer, ...late };
    case 'events':
      return { [word]: Number(f.events), ...late };
    case 'latency':
      return late;
    default:
      return { [word]: true, ...late };
  }
}
