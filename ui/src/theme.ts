// Dark or light: as the system has it, or as the switch was set. The switch is kept; it says nothing of anybody.
import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const kept = 'evergate-theme';

function read(): Theme {
  try {
    const t = localStorage.getItem(kept);
    return t === 'light' || t === 'dark' ? t : 'system';
  } catch {
    return 'system'; // storage is switched off
  }
}

export const theme = signal<Theme>(read());

/** dress keeps the document in the theme that is set. */
export function dress(): void {
  theme.subscribe((t) => {
    if (t === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = t;
    try {
      if (t === 'system') localStorage.removeItem(kept);
      else localStorage.setItem(kept, t);
    } catch {
      // as above
    }
  });
}
