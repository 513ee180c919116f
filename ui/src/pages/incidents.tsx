// Incidents: what guards did, put together from the first that blocked to the last that cleared, with the requests that were the cause.
import { useEffect, useState } from 'preact/hooks';
import { admin, get } from '../api/client';
import { useResource } from '../api/resource';
import type { Entry } from '../api/types';
import { Choice } from '../parts/field';
import { Empty, Loaded, Page, Panel } from '../parts/panel';
import { now } from '../parts/now';
import { Mark, Time } from '../parts/text';
import { href, route, setQuery } from '../route';
import { health } from '../state';
import { ms, plural, spaced } from '../words/format';
import { incidents, spells, type Incident } from '../words/incidents';
import { extend, renew, type List } from '../words/pages';
import { Entries, short } from './entries';

const LIMIT = 500;
const SHOWN = 50;
const CAUSES = 5;
const ROWS = 100; // transitions of one incident

interface Answer {
  entries: Entry[];
  next: string;
}

export function Incidents() {
  const q = route.value.query;
  const provider = q['provider'] ?? '';
  const from = q['from'] ?? '24h';
  const view = q['view'] ?? 'incidents';
  const query = { provider, from, limit: LIMIT };
  const path =
    view === 'audit'
      ? admin(['audit'], query)
      : admin(['timeline'], { ...query, kinds: view === 'incidents' ? 'guard,order,discovery' : 'guard,order,discovery,change,probe' });
  const timeline = useResource<Answer>(path, {
    every: 30_000,
    on: ['guard', 'order', 'discovery', 'change', ...(view === 'all' ? ['probe'] : [])],
    least: 1000,
  });
  const providers = [...new Set([...Object.keys(health.value?.providers ?? {}), ...(provider ? [provider] : [])])];
  return (
    <Page
      title="Incidents"
      lead="What the guards did. An incident lasts from the first guard of a provider that blocked to the last one that cleared."
    >
      <form class="filters" role="search" aria-label="Filters" onSubmit={(e) => e.preventDefault()}>
        <Choice
          label="Show"
          value={view}
          set={(v) => setQuery({ view: v === 'incidents' ? undefined : v })}
          options={[
            ['incidents', 'incidents'],
            ['all', 'every entry'],
            ['audit', 'audit log'],
          ]}
        />
        <Choice
          label="Provider"
          value={provider}
          set={(v) => setQuery({ provider: v || undefined })}
          options={[['', 'any'], ...providers.map((p): [string, string] => [p, p])]}
        />
        <Choice
          label="Time"
          value={from}
          set={(v) => setQuery({ from: v === '24h' ? undefined : v })}
          options={[
            ['1h', 'last hour'],
            ['24h', 'last 24 hours'],
            ['168h', 'last 7 days'],
            ['720h', 'last 30 days'],
          ]}
        />
      </form>
      <Loaded of={timeline} what="The timeline">
        {(a) => (view === 'incidents' ? <Grouped a={a} /> : <Flat key={path} a={a} path={path} audit={view === 'audit'} />)}
      </Loaded>
    </Page>
  );
}

function Flat({ a, path, audit }: { a: Answer; path: string; audit: boolean }) {
  const [list, setList] = useState<List<Entry>>({ rows: a.entries, next: a.next, room: LIMIT });
  const [wrong, setWrong] = useState('');
  const cursor = list.next;
  useEffect(() => setList((l) => renew(l, a.entries, a.next)), [a]);
  const older = (): void => {
    setList((l) => ({ ...l, room: l.rows.length + 2 * LIMIT })); // what comes meanwhile has room, too
    void get<Answer>(`${path}&cursor=${encodeURIComponent(cursor)}`).then(
      (b) => {
        setList((l) => extend(l, cursor, b.entries, b.next));
        setWrong('');
      },
      (err: unknown) => setWrong(err instanceof Error ? err.message : String(err)),
    );
  };
  return (
    <Panel
      title={audit ? 'Audit log' : 'Timeline'}
      note={audit ? 'Who did what, and why: orders on breakers, reloads, drills.' : undefined}
    >
      <Entries
        entries={list.rows}
        caption={audit ? 'Audit log' : 'Timeline'}
        empty={audit ? 'Nothing was done by hand in this time.' : 'Nothing happened in this time.'}
      />
      {cursor ? (
        <button type="button" onClick={older}>
          Older entries
        </button>
      ) : null}
      {wrong ? <p role="alert">{wrong}</p> : null}
    </Panel>
  );
}

function Grouped({ a }: { a: Answer }) {
  const all = incidents(a.entries, now.peek());
  const [shown, show] = useState(SHOWN);
  if (all.length === 0) {
    return (
      <Panel title="Incidents">
        <Empty title="No guard blocked anything in this time.">
          A <a href={href('drills')}>drill</a> shows what would happen if a provider failed.
        </Empty>
      </Panel>
    );
  }
  return (
    <>
      <p role="status" class="quiet">
        {plural(all.length, 'incident')}, {all.filter((i) => i.to === undefined).length} going on
        {a.next ? '; older ones are left out, choose a provider or a shorter time' : ''}
      </p>
      {all.slice(0, shown).map((i) => (
        <One key={i.id} i={i} />
      ))}
      {all.length > shown ? (
        <button type="button" onClick={() => show(shown + SHOWN)}>
          More incidents
        </button>
      ) : null}
    </>
  );
}

/** Lanes draws when each guard blocked; the table below has the same in words. */
function Lanes({ i }: { i: Incident }) {
  const end = Math.max(i.to ?? now.value, i.from + 1);
  const part = (t: number): string => `${(((t - i.from) / (end - i.from)) * 100).toFixed(2)}%`;
  return (
    <div class="lanes" aria-hidden="true">
      {spells(i, end).map(([name, list]) => (
        <div key={name}>
          <span>{name}</span>
          <div class="lane">
            {list.map((s) => (
              <i
                key={s.from}
                class={`bar ${s.state}`}
                style={{ left: part(s.from), width: part(i.from + s.to - s.from) }}
                title={`${spaced(s.state)} for ${ms(s.to - s.from)}`}
              />
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}

function One({ i }: { i: Incident }) {
  const [open, setOpen] = useState(i.to === undefined);
  const turns = i.entries.filter((e) => e.kind !== 'guard' || e.from !== e.to); // not those that only prolong a block
  const longer = i.entries.length - turns.length;
  return (
    <Panel
      item
      title={
        <>
          <a class="name" href={href('providers', i.provider)}>
            {i.provider}
          </a>
          : {i.guards.join(', ')}
        </>
      }
      tools={i.to === undefined ? <Mark tone="bad">going on</Mark> : <Mark tone="good">over</Mark>}
    >
      <p>
        <Time at={new Date(i.from).toISOString()} />{' '}
        {i.to === undefined ? (
          'until now'
        ) : (
          <>
            to <Time at={new Date(i.to).toISOString()} />, {ms(i.to - i.from)}
          </>
        )}
        {i.reasons.length > 0 ? `, by ${i.reasons.map(spaced).join(', ')}` : ''}.
      </p>
      <Lanes i={i} />
      {i.requests.length > 0 ? (
        <p>
          Brought about by{' '}
          {i.requests.slice(0, CAUSES).map((r, n) => (
            <span key={r}>
              {n > 0 ? ', ' : ''}
              <a href={href('requests', r)}>{short(r)}</a>
            </span>
          ))}
          {i.requests.length > CAUSES ? ` and ${i.requests.length - CAUSES} more` : ''}
          {' · '}
          <a
            href={href('requests', '', {
              provider: i.provider,
              from: new Date(i.from - 60_000).toISOString(),
              ...(i.to ? { to: new Date(i.to + 1000).toISOString() } : {}),
            })}
          >
            All requests to it in this time
          </a>
        </p>
      ) : null}
      <details open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
        <summary>
          {plural(turns.length, 'transition')}
          {longer > 0 ? `, and blocks were prolonged ${plural(longer, 'time')}` : ''}
        </summary>
        {open && turns.length > ROWS ? <p class="quiet">The last {ROWS}; "every entry" above has all.</p> : null}
        {open ? <Entries entries={turns.slice(-ROWS)} caption={`Transitions of ${i.provider}`} empty="" provider={false} /> : null}
      </details>
    </Panel>
  );
}
