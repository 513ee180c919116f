// Providers: what discovery says and what the guards hold, side by side, as they are distinct things; and an operator's hand on them.
import type { Health, Provider } from '../api/types';
import { Check } from '../parts/field';
import { Empty, Failure, Page, Panel } from '../parts/panel';
import { Table } from '../parts/table';
import { Ago, Countdown, Mark, Name } from '../parts/text';
import { href, route, setQuery } from '../route';
import { health, healthAt, healthError, refreshHealth, troubled } from '../state';
import { plural, spaced } from '../words/format';
import { own } from '../words/own';
import { Guards } from './guards';
import { ProviderPage } from './provider';

export function Providers() {
  const h = health.value;
  const id = route.value.id;
  const provider = id ? own(h?.providers, id) : undefined;
  if (!h) {
    return (
      <Page title={id || 'Providers'}>
        {healthError.value ? (
          <Failure error={healthError.value} again={refreshHealth} what="The health of providers" />
        ) : (
          <p class="loading" role="status">
            Loading…
          </p>
        )}
      </Page>
    );
  }
  if (id && !provider) {
    return (
      <Page title={id} lead={<a href={href('providers')}>All providers</a>}>
        <Empty title="There is no provider of this name.">It may have gone with a reload of the config.</Empty>
      </Page>
    );
  }
  return id && provider ? <ProviderPage name={id} p={provider} h={h} /> : <All h={h} />;
}

function All({ h }: { h: Health }) {
  const only = route.value.query['trouble'] === 'true';
  const all = Object.entries(h.providers);
  const shown = all.filter(([, p]) => !only || troubled(p));
  return (
    <Page
      title="Providers"
      lead="Discovery says which models a provider lists. The guards (circuit breaker, credential cooldowns, model lockouts) say what requests may be sent. Either can fail while the other is well."
      tools={<Check label="Only those with trouble" on={only} set={(on) => setQuery({ trouble: on ? 'true' : undefined })} />}
    >
      <Stale />
      {all.length === 0 ? (
        <Empty title="No provider is configured.">
          Add one under providers: in the config, or set a provider's key in the environment.
        </Empty>
      ) : null}
      {all.length > 0 && shown.length === 0 ? <Empty title="No provider has trouble." /> : null}
      {shown.map(([name, p]) => (
        <Card key={name} name={name} p={p} h={h} />
      ))}
    </Page>
  );
}

export function Stale() {
  const e = healthError.value;
  if (!e) return null;
  return (
    <p class="stale" role="status">
      ▲ Not up to date: what you see is from <Ago at={healthAt.value} />. {e.message}
    </p>
  );
}

function Card({ name, p, h }: { name: string; p: Provider; h: Health }) {
  return (
    <Panel
      title={
        <a href={href('providers', name)} class="name">
          {name}
        </a>
      }
      tools={p.disabled ? <Mark tone="quiet">disabled</Mark> : null}
    >
      <Guards name={name} p={p} h={h} level={3} />
    </Panel>
  );
}

/** Beliefs are what each instance of a fleet itself saw blocked. */
export function Beliefs({ name, h }: { name: string; h: Health }) {
  const rows = (h.instances ?? []).flatMap((i) => (own(i.believes, name) ?? []).map((b) => ({ i, b })));
  if ((h.instances ?? []).length < 2) return null;
  return (
    <Panel title="What each instance saw" note="Guards are shared: what one instance saw holds for all of them.">
      {rows.length === 0 ? (
        <p class="quiet">None of {plural(h.instances.length, 'instance')} itself saw a block that still holds.</p>
      ) : (
        <Table
          caption={`What each instance saw of ${name}`}
          rows={rows}
          id={({ i, b }) => [i.id, b.guard, b.model, b.credential].join('|')}
          columns={[
            { head: 'Instance', rowHead: true, cell: ({ i }) => <Name of={i.id} note={i.self ? ' (this one)' : ''} /> },
            { head: 'Guard', cell: ({ b }) => spaced(b.guard) },
            { head: 'Of', class: 'wrap', cell: ({ b }) => [b.model, b.credential].filter(Boolean).join(', ') },
            { head: 'Reason', cell: ({ b }) => spaced(b.reason) },
            { head: 'For', cell: ({ b }) => <Countdown to={b.until} over="no longer" /> },
          ]}
        />
      )}
    </Panel>
  );
}
