// Says of a request that comes by the live feed whether the filters of the list let it in, as the admin API would.
import type { Request } from '../api/types';
import { time } from './format';

export function matches(r: Request, f: Record<string, string>): boolean {
  const same = (name: 'route' | 'key' | 'code'): boolean => !f[name] || r[name] === f[name];
  if (!(['route', 'key', 'code'] as const).every(same)) return false;
  if (!touches(r, f['provider'], f['model'])) return false;
  if (f['drill'] && (f['drill'] === 'true' ? r.drill === '' : !r.drill.split(' ').includes(f['drill']))) return false;
  if (f['id'] && !r.id.startsWith(f['id'])) return false;
  if (f['status'] && !status(r.status, f['status'])) return false;
  if (f['failed'] === 'true' && !failed(r)) return false;
  if (f['rescued'] === 'true' && !r.rescued) return false;
  const to = time(f['to']);
  if (to !== undefined && (time(r.start) ?? 0) + r.duration_ms >= to) return false; // a request's time is its end
  if (f['q']) {
    const q = f['q'].toLowerCase();
    if (![r.id, r.asked, r.key, r.route, r.provider, r.model, r.code, r.trail].some((text) => (text ?? '').toLowerCase().includes(q)))
      return false;
  }
  return true;
}

const status = (is: number, want: string): boolean => (want.endsWith('xx') ? String(is)[0] === want[0] : String(is) === want);

/** failed by the gateway or its providers; a client's own mistake, or its leaving, is not. A stream that was cut has a code in spite of its 200. */
const failed = (r: Request): boolean => r.status >= 500 || (r.code !== '' && (r.status < 400 || r.status === 429));

const is = (have: string, want: string | undefined): boolean => !want || have === want;

/** blocked are the words of a trail for a candidate that was not asked and is not also what an attempt may come to. */
const blocked = ['circuit_open', 'half_open', 'operator_open', 'ramping'];

/** touches: some attempt, not only the one that answered, was of the provider and the model. The trail is all there is to tell it. */
function touches(r: Request, provider: string | undefined, model: string | undefined): boolean {
  if (!provider && !model) return true;
  if (r.provider && is(r.provider, provider) && is(r.model, model)) return true;
  return (r.trail ?? '').split(', ').some((step) => {
    const [target = '', outcome = ''] = step.split('=');
    const slash = target.indexOf('/');
    const who = plain(slash < 0 ? target : target.slice(0, slash));
    const what = slash < 0 ? '' : plain(target.slice(slash + 1));
    return !blocked.includes(outcome.split(';')[0] ?? '') && is(who, provider) && is(what, model);
  });
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
