// Requests: what came, live, by filters that stand in the address; and one request with its trail.
import { useEffect, useRef, useState } from 'preact/hooks';
import { admin, get } from '../api/client';
import { listen, live } from '../api/live';
import { useResource } from '../api/resource';
import type { Request } from '../api/types';
import { Check, Choice, Input } from '../parts/field';
import { Empty, Loaded, Page, Panel } from '../parts/panel';
import { href, route, setQuery } from '../route';
import { health } from '../state';
import { plural } from '../words/format';
import { matches } from '../words/matches';
import { extend, put, renew, type List as Listed } from '../words/pages';
import { RequestPage } from './request';
import { RequestTable } from './requesttable';

const SHOWN = 100; // rows of the live tail
const REDRAW = 300; // ms between two updates of it
const OTHERS = 3_000; // ms between two looks at what other instances served: events are of the one that is asked

interface Answer {
  requests: Request[];
  next: string;
  dropped: number;
}

export function Requests() {
  return route.value.id ? <RequestPage id={route.value.id} /> : <List />;
}

const statuses: [string, string][] = [
  ['', 'any'],
  ['2xx', '2xx answered'],
  ['4xx', '4xx refused'],
  ['429', '429 limited'],
  ['499', '499 client left'],
  ['5xx', '5xx failed'],
];

const spans: [string, string][] = [
  ['', 'all that is kept'],
  ['15m', 'last 15 minutes'],
  ['1h', 'last hour'],
  ['24h', 'last 24 hours'],
  ['168h', 'last 7 days'],
];

function List() {
  const q = route.value.query;
  const filters = pick(q);
  const alone = (health.value?.instances ?? []).length < 2;
  const first = useResource<Answer>(admin(['requests'], { ...filters, limit: SHOWN }), {
    on: ['lost'],
    least: 2_000,
    every: alone ? 0 : OTHERS,
  });
  return (
    <Page title="Requests" lead="Newest first. A request shows as soon as it has ended.">
      <Filters q={q} />
      <Loaded of={first} what="The list of requests">
        {(a) => <Tail key={JSON.stringify(filters)} first={a} filters={filters} />}
      </Loaded>
    </Page>
  );
}

const names = ['q', 'id', 'route', 'model', 'provider', 'key', 'status', 'code', 'from', 'to', 'failed', 'rescued', 'drill'];

const pick = (q: Record<string, string>): Record<string, string> =>
  Object.fromEntries(names.filter((n) => q[n]).map((n) => [n, q[n] ?? '']));

function Filters({ q }: { q: Record<string, string> }) {
  const set = (name: string) => (value: string) => setQuery({ [name]: value || undefined });
  const providers = Object.keys(health.value?.providers ?? {});
  const chosen = q['provider'] ?? '';
  return (
    <form class="filters" role="search" aria-label="Filters" onSubmit={(e) => e.preventDefault()}>
      <Typed label="Search" type="search" placeholder="id, model, key" value={q['q'] ?? ''} set={set('q')} />
      <Typed label="Route" placeholder="virtual model" value={q['route'] ?? ''} set={set('route')} />
      <Choice
        label="Provider"
        value={chosen}
        set={set('provider')}
        options={[['', 'any'], ...[...new Set([...providers, ...(chosen ? [chosen] : [])])].map((p): [string, string] => [p, p])]}
      />
      <Typed label="Key" placeholder="name" value={q['key'] ?? ''} set={set('key')} />
      <Choice label="Status" value={q['status'] ?? ''} set={set('status')} options={statuses} />
      <Choice
        label="Time"
        value={q['from'] ?? ''}
        set={set('from')}
        options={spans.some(([s]) => s === (q['from'] ?? '')) ? spans : [...spans, [q['from'] ?? '', q['from'] ?? '']]}
      />
      <fieldset>
        <legend class="unseen">Only</legend>
        <Check label="Failed" on={q['failed'] === 'true'} set={(on) => setQuery({ failed: on ? 'true' : undefined })} />
        <Check label="Rescued" on={q['rescued'] === 'true'} set={(on) => setQuery({ rescued: on ? 'true' : undefined })} />
      </fieldset>
      {names.some((n) => q[n]) ? (
        <button type="button" onClick={() => setQuery(Object.fromEntries(names.map((n) => [n, undefined])))}>
          Clear filters
        </button>
      ) : null}
    </form>
  );
}

/** Typed is a field whose value counts once the typing pauses. */
function Typed({
  value,
  set,
  ...rest
}: {
  label: string;
  value: string;
  set: (v: string) => void;
  placeholder?: string;
  type?: 'text' | 'search';
}) {
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <Input
      {...rest}
      value={typed}
      set={(v) => {
        setTyped(v);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => set(v.trim()), 350);
      }}
    />
  );
}

function Tail({ first, filters }: { first: Answer; filters: Record<string, string> }) {
  const [list, setList] = useState<Listed<Request>>({ rows: first.requests, next: first.next, room: SHOWN });
  const [paused, setPaused] = useState(false);
  const [missed, setMissed] = useState(0);
  const [wrong, setWrong] = useState('');
  const waiting = useRef<Request[]>([]);
  const isPaused = useRef(false);
  isPaused.current = paused;
  const held = useRef<Answer | undefined>(undefined); // what came of other instances while it was paused

  useEffect(() => {
    if (isPaused.current) held.current = first;
    else setList((l) => renew(l, first.requests, first.next));
  }, [first]);

  /** takeIn lists what waits. If that is all there was room for, some may have been left out before it. */
  const takeIn = (): void => {
    const fresh = waiting.current;
    waiting.current = [];
    const last = fresh[SHOWN - 1];
    setList((l) => (last ? renew(l, fresh, last.row) : put(l, fresh)));
  };

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      timer = undefined;
      if (isPaused.current) {
        setMissed(waiting.current.length);
        return;
      }
      takeIn();
    };
    const deaf = listen((batch) => {
      const fresh = batch.filter((e) => e.kind === 'request').map((e) => e.data as Request);
      const mine = fresh.filter((r) => matches(r, filters));
      if (mine.length === 0) return;
      waiting.current = [...mine.reverse(), ...waiting.current].slice(0, SHOWN);
      timer ??= setTimeout(draw, REDRAW);
    });
    return () => {
      clearTimeout(timer);
      deaf();
    };
  }, [JSON.stringify(filters)]);

  const pause = (on: boolean): void => {
    setPaused(on);
    if (on) return;
    setMissed(0);
    const of = held.current;
    held.current = undefined;
    if (of) setList((l) => renew(l, of.requests, of.next));
    takeIn();
  };
  const more = async (): Promise<void> => {
    setWrong('');
    const cursor = list.next;
    setList((l) => ({ ...l, room: l.rows.length + 2 * SHOWN })); // what comes meanwhile has room, too
    try {
      const a = await get<Answer>(admin(['requests'], { ...filters, limit: SHOWN, cursor }));
      setList((l) => extend(l, cursor, a.requests, a.next));
    } catch (err) {
      setWrong(err instanceof Error ? err.message : String(err));
    }
  };

  const all = list.rows;
  return (
    <Panel
      title="Live tail"
      tools={
        <>
          <span class="quiet" role="status">
            {paused
              ? missed >= SHOWN
                ? `${SHOWN} or more new`
                : missed > 0
                  ? `${missed} new`
                  : 'paused'
              : live.value.state === 'live'
                ? 'follows'
                : 'not live'}
          </span>
          <button type="button" aria-pressed={paused} onClick={() => pause(!paused)}>
            {paused ? 'Resume' : 'Pause'}
          </button>
        </>
      }
      note={
        first.dropped > 0
          ? `${plural(first.dropped, 'request')} could not be kept since this instance started: the ledger's queue was full.`
          : undefined
      }
    >
      {all.length === 0 ? (
        <Empty title={Object.keys(filters).length > 0 ? 'No request fits these filters.' : 'No request has come yet.'}>
          {Object.keys(filters).length > 0 ? (
            'Take one away, or wait: what fits shows as it comes.'
          ) : (
            <>
              Send one from the <a href={href('playground')}>playground</a>.
            </>
          )}
        </Empty>
      ) : (
        <RequestTable rows={all} caption="Requests" />
      )}
      {wrong ? <p role="alert">{wrong}</p> : null}
      {list.next ? (
        <p>
          <button type="button" onClick={() => void more()}>
            Older requests
          </button>
        </p>
      ) : null}
    </Panel>
  );
}
