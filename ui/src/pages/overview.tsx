// Overview: is it well, now and over a window; what failover saved, and what it cost.
import { admin } from '../api/client';
import { useResource } from '../api/resource';
import type { ModelFigures, Overview as Figures } from '../api/types';
import { Chart } from '../parts/chart';
import { Choice } from '../parts/field';
import { Empty, Figure, Loaded, Page, Panel } from '../parts/panel';
import { Table } from '../parts/table';
import { breakerTone, discoveryTone, Mark } from '../parts/text';
import { href, route, setQuery } from '../route';
import { health, troubled } from '../state';
import { bucketed, count, day, decimal, dollars, hourMinute, ms, percent, plural, rate, spaced, time } from '../words/format';

const windows: [string, string][] = [
  ['1h', 'last hour'],
  ['6h', 'last 6 hours'],
  ['24h', 'last 24 hours'],
  ['168h', 'last 7 days'],
  ['720h', 'last 30 days'],
];

const STRIP = 12; // providers that are shown whether they have trouble or not

export function Overview() {
  const window = route.value.query['window'] ?? '24h';
  const figures = useResource<Figures>(admin(['overview'], { window }), { every: 10_000, on: ['request', 'guard'], least: 3_000 });
  const name = windows.find(([w]) => w === window)?.[1] ?? window;
  return (
    <Page
      title="Overview"
      tools={
        <Choice
          label="Window"
          value={window}
          set={(w) => setQuery({ window: w === '24h' ? undefined : w })}
          options={windows.some(([w]) => w === window) ? windows : [...windows, window]}
        />
      }
    >
      <Loaded of={figures} what="The overview">
        {(f) => (
          <>
            <Now f={f} />
            <Window f={f} name={name} />
            <Charts f={f} name={name} />
            <Targets models={f.models ?? []} name={name} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Now({ f }: { f: Figures }) {
  const n = f.now;
  return (
    <Panel title="Now" note="The last minute, and what is blocked at this moment.">
      <dl class="figures">
        <Figure label="Requests" value={rate(n.requests_per_second)} />
        <Figure label="Availability" value={percent(n.availability)} tone={n.availability !== null && n.availability < 0.99 ? 'bad' : ''} />
        <Figure label="Rescued" value={count(n.rescued)} />
        <Figure label="Time to first token" value={bucketed(n.first_content_ms?.p50)} note={`p95 ${bucketed(n.first_content_ms?.p95)}`} />
        <Figure label="Attempts per request" value={decimal(n.attempts_per_request)} />
        <Figure label="Spend" value={dollars(n.spend_usd_per_hour)} note="an hour" />
      </dl>
      <Blocked />
    </Panel>
  );
}

function Blocked() {
  const providers = Object.entries(health.value?.providers ?? {});
  if (providers.length === 0) return null;
  const shown = providers.length > STRIP ? providers.filter(([, p]) => troubled(p)) : providers;
  return (
    <ul class="strip" aria-label="Providers now">
      {shown.map(([name, p]) => {
        const cooling = Object.values(p.credentials ?? {}).filter((c) => c.state !== 'ok').length;
        return (
          <li key={name} class={troubled(p) ? 'wrong' : ''}>
            <a href={href('providers', name)}>{name}</a>
            {p.disabled ? <Mark tone="quiet">disabled</Mark> : null}
            <Mark tone={breakerTone(p.breaker.state)}>{spaced(p.breaker.state)}</Mark>
            {p.status === 'healthy' || p.disabled ? null : <Mark tone={discoveryTone(p.status)}>{p.status || 'not discovered'}</Mark>}
            {cooling > 0 ? <Mark tone="warn">{plural(cooling, 'credential')} cooling down</Mark> : null}
            {p.lockouts.length > 0 ? <Mark tone="warn">{plural(p.lockouts.length, 'model')} locked out</Mark> : null}
          </li>
        );
      })}
      {shown.length < providers.length ? (
        <li>
          <a href={href('providers')}>{plural(providers.length - shown.length, shown.length > 0 ? 'other provider' : 'provider')}</a>
          <Mark tone="good">without trouble</Mark>
        </li>
      ) : null}
    </ul>
  );
}

function Window({ f, name }: { f: Figures; name: string }) {
  const w = f.window;
  return (
    <Panel title={`The ${name}`}>
      <dl class="figures">
        <Figure label="Requests" value={count(w.requests)} />
        <Figure label="Availability" value={percent(w.availability)} note={w.failed ? `${count(w.failed)} failed` : ''} />
        <Figure
          label="Requests rescued"
          value={count(w.rescued)}
          note={w.rescued && w.added_ms ? `${ms(w.added_ms / w.rescued)} later each` : ''}
        />
        <Figure label="Time to first token" value={bucketed(w.first_content_ms?.p50)} note={`p95 ${bucketed(w.first_content_ms?.p95)}`} />
        <Figure
          label="Attempts per request"
          value={decimal(w.attempts_per_request)}
          note={w.failovers ? plural(w.failovers, 'failover') : ''}
        />
        <Figure
          label="Spend"
          value={dollars(w.cost_usd)}
          note={[
            w.added_cost_usd ? `${dollars(w.added_cost_usd)} of it by failover` : '',
            w.unpriced_attempts ? `without ${plural(w.unpriced_attempts, 'attempt')} of no known price` : '',
          ]
            .filter(Boolean)
            .join('; ')}
        />
      </dl>
    </Panel>
  );
}

function Charts({ f, name }: { f: Figures; name: string }) {
  const series = f.series ?? [];
  const at = series.map((p) => time(p.at) ?? 0);
  const long = (at[at.length - 1] ?? 0) - (at[0] ?? 0) > 2 * 86_400_000;
  const when = (t: number): string => (long ? `${day(t).slice(5)} ${hourMinute(t)}` : hourMinute(t));
  if (!series.some((p) => p.requests > 0)) {
    return (
      <Panel title="Over time">
        <Empty title={`No request came in the ${name}.`}>
          Send one, for instance from the <a href={href('playground')}>playground</a>, and it shows here within seconds.
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel title="Over time">
      <div class="charts">
        <Chart
          title="Requests"
          kind="bars"
          at={at}
          when={when}
          unit={count}
          series={[
            { name: 'answered at once', look: 'c-ok', values: series.map((p) => p.requests - p.failed - p.rescued) },
            { name: 'rescued', look: 'c-saved', values: series.map((p) => p.rescued) },
            { name: 'failed', look: 'c-bad', values: series.map((p) => p.failed) },
          ]}
        />
        <Chart
          title="Time to first token"
          kind="lines"
          at={at}
          when={when}
          unit={ms}
          exact={bucketed}
          series={[
            { name: 'p50', look: 'c-a', values: series.map((p) => p.first_content_ms?.p50) },
            { name: 'p95', look: 'c-b', values: series.map((p) => p.first_content_ms?.p95) },
          ]}
        />
        <Chart
          title="Attempts per request"
          kind="lines"
          at={at}
          when={when}
          unit={(n) => decimal(n)}
          series={[
            { name: 'attempts per request', look: 'c-a', values: series.map((p) => (p.requests > 0 ? p.attempts / p.requests : null)) },
          ]}
        />
        <Chart
          title="Spend"
          kind="bars"
          at={at}
          when={when}
          unit={dollars}
          series={[{ name: 'spend', look: 'c-a', values: series.map((p) => p.cost_usd) }]}
        />
      </div>
    </Panel>
  );
}

function Targets({ models, name }: { models: ModelFigures[]; name: string }) {
  if (models.length === 0) return null;
  return (
    <Panel title="Models" note={`Availability in the ${name}, against the target that the config sets (models.NAME.availability).`}>
      <Table
        caption="Availability of models"
        rows={models}
        id={(m) => m.route}
        columns={[
          { head: 'Model', rowHead: true, cell: (m) => <a href={href('requests', '', { route: m.route })}>{m.route}</a> },
          { head: 'Requests', num: true, cell: (m) => count(m.requests) },
          { head: 'Failed', num: true, cell: (m) => count(m.failed) },
          { head: 'Availability', num: true, cell: (m) => percent(m.availability) },
          { head: 'Target', num: true, cell: (m) => percent(m.target) },
          {
            head: 'Error budget left',
            num: true,
            cell: (m) =>
              m.target === null ? (
                percent(null)
              ) : (
                <Mark tone={(m.budget_left ?? 1) < 0 ? 'bad' : (m.budget_left ?? 1) < 0.25 ? 'warn' : 'good'}>
                  {percent(m.budget_left)}
                </Mark>
              ),
          },
          { head: 'Burn rate', num: true, cell: (m) => decimal(m.burn_rate) },
        ]}
      />
    </Panel>
  );
}
