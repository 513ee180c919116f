// The page that is shown is in the address, behind the #, so that every view can be sent to somebody: #/requests/ID?failed=true.
import { signal } from '@preact/signals';

export interface Route {
  page: string;
  /** id is the part behind the page's name; empty: none. */
  id: string;
  query: Record<string, string>;
}

/** parse reads an address's hash. It takes anything: what is not encoded well stands for itself. */
export function parse(hash: string): Route {
  const [path = '', tail = ''] = split(hash.replace(/^#\/?/, ''), '?');
  const [page = '', id = ''] = split(path, '/');
  return { page: decode(page) || 'overview', id: decode(id), query: Object.fromEntries(new URLSearchParams(tail)) };
}

/** href is the address of a page; empty values of the query are left out. */
export function href(page: string, id = '', query: Record<string, string | undefined> = {}): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) q.set(name, value);
  const tail = q.toString();
  return '#/' + encodeURIComponent(page) + (id ? '/' + encodeURIComponent(id) : '') + (tail ? '?' + tail : '');
}

function split(text: string, at: string): [string, string] {
  const i = text.indexOf(at);
  return i < 0 ? [text, ''] : [text.slice(0, i), text.slice(i + 1)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const here = (): string => (typeof location === 'undefined' ? '' : location.hash);

export const route = signal<Route>(parse(here()));

/** follow keeps route in step with the address. */
export function follow(): void {
  addEventListener('hashchange', () => (route.value = parse(here())));
}

/** setQuery changes the query of the page that is shown, without a new entry in the browser's history. */
export function setQuery(changes: Record<string, string | undefined>): void {
  const r = route.value;
  history.replaceState(null, '', href(r.page, r.id, { ...r.query, ...changes }));
  route.value = parse(here());
}
