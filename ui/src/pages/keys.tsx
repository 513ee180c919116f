// Callers' keys: who has them, what they may, what they have spent, and what can be done to them.
import { useState } from 'preact/hooks';
import { admin } from '../api/client';
import { useResource } from '../api/resource';
import type { BudgetGauge, Key, Keys as List, LimitedScope, Limits, NewKey } from '../api/types';
import { Bar } from '../parts/bar';
import { Check, Input } from '../parts/field';
import { Empty, Loaded, Panel } from '../parts/panel';
import { Table } from '../parts/table';
import { Ago, Mark, Name, Time, type Tone } from '../parts/text';
import { href, route, setQuery } from '../route';
import { compact, count, dollars, spaced } from '../words/format';
import { Made, Revoke, Rotate } from './keydialogs';
import { KeyDialog } from './keyform';

const tones: Record<string, Tone> = { active: 'good', rotating: 'warn', expired: 'quiet', revoked: 'quiet', shadowed: 'bad' };

const FEW = 15; // keys that need no search
const MOST = 200; // rows that are drawn

const matches = (k: Key, find: string): boolean => {
  const text = [k.name, k.prefix, k.owner, k.team, ...Object.entries(k.labels ?? {}).map(([n, v]) => `${n}=${v}`)].join('\n').toLowerCase();
  return text.includes(find.trim().toLowerCase());
};

type Open = { what: 'make' } | { what: 'made'; key: NewKey } | { what: 'change' | 'rotate' | 'revoke'; key: Key };

export function Keys() {
  const keys = useResource<List>(admin(['keys']), { every: 10_000, on: ['change'], least: 500 });
  const limits = useResource<Limits>(admin(['limits']), { every: 5_000, on: ['request', 'change'], least: 3_000 });
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  const changed = (): void => {
    keys.reload();
    limits.reload();
  };
  const made = (key: NewKey): void => {
    changed();
    setOpen({ what: 'made', key });
  };
  const all = route.value.query['keys'] === 'all';
  const find = route.value.query['find'] ?? '';
  const scopes = limits.data?.scopes ?? [];
  const teams = scopes.filter((s) => s.scope === 'team').map((s) => s.name);
  return (
    <>
      <Panel
        title="Keys"
        tools={
          <>
            <Check label="Revoked ones, too" on={all} set={(on) => setQuery({ keys: on ? 'all' : undefined })} />
            <button type="button" class="primary" aria-haspopup="dialog" onClick={() => setOpen({ what: 'make' })}>
              Make a key…
            </button>
          </>
        }
        note="Whoever calls shows one of them. The keys themselves are nowhere to be seen, except once when they are made."
      >
        <Loaded of={keys} what="The list of keys">
          {(a) => {
            const wanted = a.keys.filter((k) => (all || k.state !== 'revoked') && matches(k, find));
            const shown = wanted.slice(0, MOST);
            return (
              <>
                {a.asks_for_keys ? null : (
                  <p class="note">
                    <Mark tone="warn">Nobody is asked for a key</Mark> as long as <code>auth.mode</code> is <code>none</code>.
                  </p>
                )}
                {a.keys.length > FEW || find ? (
                  <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
                    <Input
                      label="Find"
                      type="search"
                      value={find}
                      set={(v) => setQuery({ find: v || undefined })}
                      hint="in names, owners, teams and labels"
                    />
                  </form>
                ) : null}
                {wanted.length > shown.length ? (
                  <p class="note">
                    The first {count(MOST)} of {count(wanted.length)} are shown: find others by a word.
                  </p>
                ) : null}
                {shown.length === 0 && find ? (
                  <Empty title="No key has this in its words.">Look for less, or show revoked ones, too.</Empty>
                ) : shown.length === 0 ? (
                  <Empty title="No keys.">Make one for each caller: usage, limits and budgets then go by its name.</Empty>
                ) : (
                  <KeyTable keys={shown} scopes={scopes} open={setOpen} />
                )}
              </>
            );
          }}
        </Loaded>
      </Panel>
      <Limited scopes={scopes.filter((s) => s.scope !== 'key')} />
      {open?.what === 'make' ? <KeyDialog teams={teams} close={close} made={made} changed={changed} /> : null}
      {open?.what === 'change' ? <KeyDialog of={open.key} teams={teams} close={close} changed={changed} /> : null}
      {open?.what === 'made' ? <Made of={open.key} close={close} /> : null}
      {open?.what === 'rotate' ? <Rotate of={open.key} close={close} made={made} /> : null}
      {open?.what === 'revoke' ? <Revoke of={open.key} close={close} done={changed} /> : null}
    </>
  );
}

function KeyTable({ keys, scopes, open }: { keys: Key[]; scopes: LimitedScope[]; open: (o: Open) => void }) {
  const of = (k: Key): LimitedScope | undefined => scopes.find((s) => s.scope === 'key' && s.name === k.name);
  return (
    <Table
      caption="Keys"
      rows={keys}
      id={(k) => k.id || 'config:' + k.name}
      rowClass={(k) => (k.state === 'revoked' || k.state === 'expired' ? 'off' : '')}
      columns={[
        {
          head: 'Key',
          rowHead: true,
          class: 'wrap',
          cell: (k) => (
            <>
              <a href={href('requests', '', { key: k.name })}>
                <Name of={k.name} />
              </a>
              <br />
              <span class="quiet">{k.source === 'config' ? 'of the config' : k.prefix + '…'}</span>
            </>
          ),
        },
        { head: 'State', cell: (k) => <State k={k} /> },
        { head: 'For', class: 'wrap', cell: (k) => <Whose k={k} />, maybe: whose },
        { head: 'May use', class: 'wrap', cell: (k) => <May k={k} /> },
        {
          head: 'Limits and budgets',
          class: 'wrap wide',
          cell: (k) => (
            <>
              <Gauges of={of(k)} k={k} />
              <Budgets of={of(k)?.budgets ?? []} k={k} />
            </>
          ),
          maybe: (k) => limited(k) || (k.budgets ?? []).length > 0,
        },
        { head: 'Used', cell: (k) => (k.last_used_at ? <Ago at={k.last_used_at} /> : 'never') },
        {
          head: 'Change',
          cell: (k) =>
            k.source === 'config' || k.state === 'revoked' ? null : (
              <div class="buttons tight">
                <Act words="Change" of={k} act={() => open({ what: 'change', key: k })} />
                <Act words="Replace" of={k} act={() => open({ what: 'rotate', key: k })} />
                <Act words="Revoke" of={k} act={() => open({ what: 'revoke', key: k })} />
              </div>
            ),
        },
      ]}
    />
  );
}

const Act = ({ words, of, act }: { words: string; of: Key; act: () => void }) => (
  <button type="button" aria-haspopup="dialog" onClick={act}>
    {words}
    <span class="unseen"> the key {of.name}</span>…
  </button>
);

function State({ k }: { k: Key }) {
  return (
    <>
      <Mark tone={tones[k.state] ?? 'info'}>{spaced(k.state)}</Mark>
      {k.state === 'rotating' ? (
        <div class="quiet">
          old key until <Time at={k.old_key_until} />
        </div>
      ) : null}
      {k.state === 'revoked' ? (
        <div class="quiet">
          <Time at={k.revoked_at} />
        </div>
      ) : k.expires_at ? (
        <div class="quiet">
          {k.state === 'expired' ? 'since' : 'until'} <Time at={k.expires_at} />
        </div>
      ) : null}
      {k.state === 'shadowed' ? <div class="quiet">a key of the config has its name</div> : null}
    </>
  );
}

const whose = (k: Key): boolean => k.owner !== '' || k.team !== '' || Object.keys(k.labels ?? {}).length > 0;

/** Whose says for whom a key is. */
function Whose({ k }: { k: Key }) {
  return (
    <>
      {k.owner ? <Name of={k.owner} /> : null}
      {k.team ? (
        <div>
          <span class="quiet">team</span> <Name of={k.team} />
        </div>
      ) : null}
      {Object.entries(k.labels ?? {}).map(([name, value]) => (
        <span key={name}>
          <span class="tag">
            {name}={value}
          </span>{' '}
        </span>
      ))}
    </>
  );
}

function May({ k }: { k: Key }) {
  const parts: [string, string[] | null][] = [
    ['models', k.models],
    ['providers', k.providers],
    ['routes', k.routes],
    ['from', k.sources],
    ['policies', k.policies],
    ['guardrails', k.guardrails],
  ];
  const said = parts.filter(([, list]) => (list ?? []).length > 0);
  if (said.length === 0) return <span>everything</span>;
  return (
    <>
      {said.map(([what, list]) => (
        <div key={what}>
          <span class="quiet">{what}</span> {(list ?? []).join(', ')}
        </div>
      ))}
    </>
  );
}

const limited = (k: Key): boolean => !!(k.limits?.requests_per_minute || k.limits?.tokens_per_minute || k.limits?.concurrent);

/** Gauges are limits with what is used of them now. */
function Gauges({ of, k }: { of: LimitedScope | undefined; k?: Key }) {
  const rows = [
    { what: 'requests', g: of?.requests_per_minute, limit: k?.limits?.requests_per_minute, unit: 'a minute', write: count },
    { what: 'tokens', g: of?.tokens_per_minute, limit: k?.limits?.tokens_per_minute, unit: 'a minute', write: compact },
    { what: 'in flight', g: of?.concurrent, limit: k?.limits?.concurrent, unit: '', write: count },
  ];
  return (
    <>
      {rows.map(({ what, g, limit, unit, write }) => {
        const most = limit ?? g?.limit ?? 0;
        if (most <= 0) return null;
        return (
          <Bar key={what} used={g?.used ?? 0} held={g?.held ?? 0} limit={most}>
            {write(g?.used ?? 0)} of {write(most)} {what} {unit}
          </Bar>
        );
      })}
    </>
  );
}

function Budgets({ of, k }: { of: BudgetGauge[]; k?: Key }) {
  if (of.length === 0) {
    return (
      <>
        {(k?.budgets ?? []).map((b, i) => (
          <div key={i}>
            {[b.usd > 0 ? dollars(b.usd) : '', b.tokens > 0 ? `${compact(b.tokens)} tokens` : ''].filter(Boolean).join(' and ')} a {b.per}
          </div>
        ))}
      </>
    );
  }
  return (
    <>
      {of.map((b, i) => (
        <div key={i}>
          {b.limit_usd !== null ? (
            <Bar used={b.spent_usd} held={b.held_usd} limit={b.limit_usd} near={b.warn}>
              {dollars(b.spent_usd)} of {dollars(b.limit_usd)}
            </Bar>
          ) : null}
          {b.limit_tokens !== null ? (
            <Bar used={b.spent_tokens} held={b.held_tokens} limit={b.limit_tokens} near={b.warn}>
              {compact(b.spent_tokens)} of {compact(b.limit_tokens)} tokens
            </Bar>
          ) : null}
          <div class="quiet">
            this {b.per}, until <Time at={b.to} />
            {b.mode === 'warn' ? '; tells only' : ''}
          </div>
        </div>
      ))}
    </>
  );
}

/** Limited shows what teams, models and providers have left. */
function Limited({ scopes }: { scopes: LimitedScope[] }) {
  if (scopes.length === 0) return null;
  return (
    <Panel title="Limits" note="Of teams, virtual models and providers, as the config says them.">
      <Table
        caption="Limits of teams, models and providers"
        rows={scopes}
        id={(s) => s.scope + ' ' + s.name}
        columns={[
          { head: 'Of', rowHead: true, class: 'wrap', cell: (s) => <Name of={`${s.scope} ${s.name}`} /> },
          { head: 'Limits', class: 'wrap wide', cell: (s) => <Gauges of={s} /> },
          {
            head: 'Budgets',
            class: 'wrap wide',
            cell: (s) => <Budgets of={s.budgets ?? []} />,
            maybe: (s) => (s.budgets ?? []).length > 0,
          },
        ]}
      />
    </Panel>
  );
}
