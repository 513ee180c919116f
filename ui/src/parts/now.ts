// The time that the whole page goes by: the gateway's, as this machine's clock may be wrong.
import { signal } from '@preact/signals';
import { there } from '../api/client';

/** now moves on twice a second. */
export const now = signal(Date.now());

setInterval(() => (now.value = there()), 500);

/** moment is the time as it is, for who draws anew as now moves on: what has just come would else be drawn up to half a second before it was. */
export function moment(): number {
  void now.value;
  return there();
}
