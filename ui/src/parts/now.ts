// The time that the whole page goes by: the gateway's, as this machine's clock may be wrong.
import { signal } from '@preact/signals';
import { skew } from '../api/client';

/** now moves on twice a second. */
export const now = signal(Date.now());

const there = (): number => Date.now() + skew.peek();

setInterval(() => (now.value = there()), 500);

/** moment is the time as it is, for who draws anew as now moves on: what has just come would else be drawn up to half a second before it was. */
export function moment(): number {
  void now.value;
  return there();
}
