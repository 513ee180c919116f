// What a screen reader is told of changes that nobody asked for.
import { signal } from '@preact/signals';

export const announced = signal('');

let pending: string[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

/** announce says a sentence; several at once are put together, and at most five are said. */
export function announce(text: string): void {
  if (!pending.includes(text)) pending.push(text);
  timer ??= setTimeout(() => {
    const more = pending.length - 5;
    announced.value = pending.slice(0, 5).join('. ') + (more > 0 ? `. And ${more} more changes.` : '');
    pending = [];
    timer = undefined;
  }, 700);
}
