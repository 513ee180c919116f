// What several pages show: the health of all providers. It is asked for once for all of them.
import { signal } from '@preact/signals';
import { admin, APIError, get, locked, there, token } from './api/client';
import { listen, live, type Heard } from './api/live';
import type { Entry, Health, Provider } from './api/types';
import { announce } from './parts/announce';
import { guardWords } from './words/incidents';

export const health = signal<Health | undefined>(undefined);
export const healthError = signal<APIError | undefined>(undefined);
export const healthAt = signal(0);

/** troubled says whether something of a provider wants looking at. One that is turned off is asked nothing. */
export const troubled = (p: Provider): boolean =>
  !p.disabled &&
  (p.status !== 'healthy' ||
    p.breaker.state !== 'closed' ||
    !!p.breaker.operator ||
    Object.values(p.breakers ?? {}).some((b) => b.state !== 'closed' || !!b.operator) ||
    Object.values(p.credentials ?? {}).some((c) => c.state !== 'ok') ||
    p.lockouts.length > 0);

const LEAST = 250; // ms between two looks
const LOOK = 10_000; // ms after which it is looked at anyway
const LOOK_DEAF = 2_500; // the same while the live feed is away

let refresh: () => void = () => undefined;

/** refreshHealth looks at once. */
export const refreshHealth = (): void => refresh();

/** watchChanges keeps health fresh and tells screen readers of what happens; the function it gives ends that. */
export function watchChanges(): () => void {
  let busy = false;
  let again = false;
  let last = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const look = async (): Promise<void> => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    clearTimeout(timer);
    last = Date.now();
    try {
      if (!locked.value) {
        health.value = await get<Health>(admin(['health']));
        healthAt.value = there();
        healthError.value = undefined;
      }
    } catch (err) {
      healthError.value = err instanceof APIError ? err : new APIError(0, '', String(err));
    } finally {
      busy = false;
      plan(again ? LEAST : live.value.state === 'live' ? LOOK : LOOK_DEAF);
      again = false;
    }
  };
  const plan = (wait: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void look(), wait);
  };
  refresh = () => plan(Math.max(0, last + LEAST - Date.now()));

  const deaf = listen((batch) => {
    if (batch.some((e) => e.kind !== 'request' && e.kind !== 'mirror')) refresh();
    batch.forEach(tell);
  });
  const watch = token.subscribe(() => refresh());
  const unlock = locked.subscribe((is) => {
    if (is) health.value = undefined;
    else refresh();
  });
  return () => {
    clearTimeout(timer);
    deaf();
    watch();
    unlock();
  };
}

function tell(e: Heard): void {
  const x = e.data as Entry;
  if (e.kind === 'guard')
    announce(
      `${x.provider}: ${guardWords(x)} is now ${(x.to ?? '').replaceAll('_', ' ')}${x.reason ? ', ' + x.reason.replaceAll('_', ' ') : ''}`,
    );
  else if (e.kind === 'discovery') announce(`${x.provider}: discovery is now ${x.to ?? ''}`);
  else if (e.kind === 'order') announce(`${x.provider}: an operator's order: ${x.to ?? ''}`);
}
