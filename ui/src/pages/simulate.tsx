// Simulate: plays a scenario in virtual time and draws what came of it.
import { useRef, useState } from 'preact/hooks';
import outage from '../../../examples/scenarios/regional-outage.yaml';
import brownout from '../../../examples/scenarios/brownout.yaml';
import keys from '../../../examples/scenarios/key-exhaustion.yaml';
import limited from '../../../examples/scenarios/004-one-limited-key.yaml';
import flapping from '../../../examples/scenarios/002-flapping.yaml';
import { admin, APIError, ask } from '../api/client';
import type { Problem, SimulatedSums, Simulation } from '../api/types';
import { Chart } from '../parts/chart';
import { Area, Choice } from '../parts/field';
import { Figure, Page, Panel } from '../parts/panel';
import { Table } from '../parts/table';
import { Name } from '../parts/text';
import { count, decimal, ms, percent, plural, seconds, spaced } from '../words/format';
import { Problems } from './config';

const examples: [string, string, string][] = [
  ['brownout', 'A brownout', brownout],
  ['outage', 'A regional outage', outage],
  ['keys', 'Keys run out', keys],
  ['limited', 'One limited key', limited],
  ['flapping', 'A flapping provider', flapping],
];

export function Simulate() {
  const [example, setExample] = useState('brownout');
  const [text, setText] = useState(brownout);
  const [report, setReport] = useState<Simulation>();
  const [error, setError] = useState<APIError>();
  const [busy, setBusy] = useState(false);
  const stop = useRef<AbortController>(undefined);

  const run = async (): Promise<void> => {
    stop.current?.abort();
    stop.current = new AbortController();
    setBusy(true);
    setError(undefined);
    try {
      const res = await ask(admin(['simulate']), {
        method: 'POST',
        headers: { 'Content-Type': 'application/yaml' },
        body: text,
        signal: stop.current.signal,
      });
      setReport((await res.json()) as Simulation);
    } catch (err) {
      if (!stop.current.signal.aborted) setError(err instanceof APIError ? err : new APIError(0, '', String(err)));
    } finally {
      setBusy(false);
    }
  };
  const problems = (error?.details as { problems?: Problem[] } | undefined)?.problems ?? [];
  return (
    <Page
      title="Simulate"
      lead="Plays a scenario in virtual time with the gateway's own failover logic: hours in a second, no request is sent. A scenario without config: plays the config in force."
    >
      <Panel title="Scenario">
        <form
          onSubmit={(e) => {
            e.preventDefault();
            void run();
          }}
        >
          <Choice
            label="Example"
            value={example}
            set={(v) => {
              setExample(v);
              const found = examples.find(([word]) => word === v);
              if (found) setText(found[2]);
            }}
            options={[
              ...examples.map(([word, name]): [string, string] => [word, name]),
              ...(example === 'own' ? [['own', 'your own'] as [string, string]] : []),
            ]}
          />
          <Area
            label="Scenario as YAML"
            class="code"
            rows={18}
            value={text}
            set={(v) => {
              setText(v);
              setExample('own');
            }}
            required
          />
          <div class="buttons">
            <button type="submit" class="primary" disabled={busy || text.trim() === ''}>
              {busy ? 'Playing…' : 'Play it'}
            </button>
            {busy ? (
              <button type="button" onClick={() => stop.current?.abort()}>
                Stop
              </button>
            ) : null}
          </div>
          {error ? (
            <p class="error" role="alert">
              {error.message}
            </p>
          ) : null}
          {problems.length > 0 ? <Problems of={problems} /> : null}
        </form>
      </Panel>
      {report ? <Report r={report} /> : null}
    </Page>
  );
}

const at = (t: number): string => (t === 0 ? '0' : seconds(Math.round(t / 1000)));

function Report({ r }: { r: Simulation }) {
  const o = r.overall;
  const series = r.series ?? [];
  const times = series.map((p) => p.at_ms);
  const bands = (r.weather ?? []).map((w) => ({
    from: w.from_ms,
    to: w.to_ms,
    name: `${spaced(w.kind)} ${(w.providers ?? []).join(', ')}`,
  }));
  const fault = r.providers.length;
  return (
    <>
      <Panel title={`What came of it: ${r.name}`}>
        <p role="status" class="quiet">
          {at(r.duration_ms)} played, seed {r.seed}
        </p>
        <dl class="figures">
          <Figure label="Requests" value={count(o.requests)} />
          <Figure label="Availability" value={percent(o.availability)} note={`at best ${percent(o.best_achievable)}`} />
          <Figure label="Failed" value={count(o.failed)} note={o.cut ? `and ${count(o.cut)} cut` : ''} tone={o.failed > 0 ? 'bad' : ''} />
          <Figure label="Rescued" value={count(o.rescued)} />
          <Figure
            label="Attempts per request"
            value={decimal(o.attempts_per_request)}
            note={`worst minute ${decimal(r.worst_minute.ratio)}`}
          />
          <Figure label="Latency p50" value={ms(o.latency_ms.p50)} note={`p95 ${ms(o.latency_ms.p95)}`} />
        </dl>
        <div class="charts">
          <Chart
            title="Requests by outcome"
            kind="bars"
            at={times}
            when={at}
            unit={count}
            bands={bands}
            series={[
              { name: 'answered', look: 'c-ok', values: series.map((p) => p.answered) },
              { name: 'cut', look: 'c-saved', values: series.map((p) => p.cut) },
              { name: 'failed', look: 'c-bad', values: series.map((p) => p.failed + p.missed) },
            ]}
          />
          <Chart
            title="Latency"
            kind="lines"
            at={times}
            when={at}
            unit={ms}
            bands={bands}
            series={[
              { name: 'p50', look: 'c-a', values: series.map((p) => p.p50_ms || null) },
              { name: 'p95', look: 'c-b', values: series.map((p) => p.p95_ms || null) },
            ]}
          />
          <Chart
            title="Attempts by provider"
            kind="lines"
            at={times}
            when={at}
            unit={count}
            bands={bands}
            series={r.providers
              .slice(0, 6)
              .map((p, i) => ({ name: p.name, look: `c-${'abcdef'[i]}`, values: series.map((s) => s.by_provider?.[i]?.attempts) }))}
          />
          <Chart
            title="Failed attempts by provider"
            kind="lines"
            at={times}
            when={at}
            unit={count}
            bands={bands}
            series={r.providers
              .slice(0, 6)
              .map((p, i) => ({ name: p.name, look: `c-${'abcdef'[i]}`, values: series.map((s) => s.by_provider?.[i]?.failures) }))}
          />
        </div>
        {fault > 6 ? <p class="quiet">The charts show six providers, the tables all {fault}.</p> : null}
      </Panel>
      <Panel title="Models">
        <Table
          caption="By model"
          rows={r.models}
          id={(m) => m.model ?? ''}
          columns={[
            { head: 'Model', rowHead: true, class: 'wrap', cell: (m) => <Name of={m.model} /> },
            { head: 'Requests', num: true, cell: (m) => count(m.requests) },
            { head: 'Availability', num: true, cell: (m) => percent(m.availability) },
            { head: 'At best', num: true, cell: (m) => percent(m.best_achievable) },
            { head: 'Rescued', num: true, cell: (m) => count(m.rescued) },
            { head: 'Attempts', num: true, cell: (m) => decimal(m.attempts_per_request) },
            { head: 'p50', num: true, cell: (m) => ms(m.latency_ms.p50) },
            { head: 'p95', num: true, cell: (m) => ms(m.latency_ms.p95) },
            { head: 'Endings', class: 'wrap', cell: (m) => endings(m) },
          ]}
        />
      </Panel>
      <Panel title="Providers">
        <Table
          caption="By provider"
          rows={r.providers}
          id={(p) => p.name}
          columns={[
            { head: 'Provider', rowHead: true, class: 'wrap', cell: (p) => <Name of={p.name} /> },
            { head: 'Attempts', num: true, cell: (p) => count(p.attempts) },
            { head: 'Answers', num: true, cell: (p) => count(p.answers) },
            { head: 'Failures', class: 'wrap', cell: (p) => (p.failures ?? []).map((f) => `${count(f.n)} ${spaced(f.what)}`).join(', ') },
            { head: 'Most in flight', num: true, cell: (p) => count(p.most_in_flight) },
            { head: 'Breaker opened', num: true, cell: (p) => count(p.breaker_opened) },
            { head: 'Keys rested', num: true, cell: (p) => count(p.keys_rested) },
            { head: 'Models locked', num: true, cell: (p) => count(p.models_locked) },
          ]}
        />
      </Panel>
      <Panel
        title="What the guards did"
        note={r.guards_left_out ? `${plural(r.guards_left_out, 'transition')} more were left out.` : undefined}
      >
        {(r.guards ?? []).length === 0 ? (
          <p class="quiet">Nothing.</p>
        ) : (
          <details>
            <summary>{plural((r.guards ?? []).length, 'transition')}</summary>
            <Table
              caption="Transitions of guards"
              rows={(r.guards ?? []).slice(0, 500)}
              id={(_, i) => String(i)}
              columns={[
                { head: 'At', rowHead: true, cell: (g) => at(g.at_ms) },
                { head: 'Provider', class: 'wrap', cell: (g) => <Name of={g.provider} /> },
                { head: 'Guard', class: 'wrap', cell: (g) => [spaced(g.guard), g.model, g.credential].filter(Boolean).join(', ') },
                { head: 'From', cell: (g) => spaced(g.from) },
                { head: 'To', cell: (g) => spaced(g.to) },
                {
                  head: 'Why',
                  class: 'wrap',
                  cell: (g) =>
                    g.to === 'closed' || g.to === 'half_open' ? '' : spaced((g.guard === 'circuit_breaker' ? g.trip : g.reason) ?? ''),
                },
              ]}
            />
          </details>
        )}
      </Panel>
    </>
  );
}

const endings = (m: SimulatedSums): string => (m.endings ?? []).map((e) => `${count(e.n)} ${spaced(e.what)}`).join(', ');
