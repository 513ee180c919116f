// The time that the whole page goes by: the gateway's, as this machine's clock may be wrong.
import { signal } from '@preact/signals';
import { skew } from '../api/client';

/** now moves on twice a second. */
export const now = signal(Date.now());

setInterval(() => (now.value = Date.now() + skew.peek()), 500);
