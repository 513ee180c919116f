// One provider: its guards, its failures by class, what is set for it, and what happened to it.
import { admin, ask } from '../api/client';
import { useEffect, useState } from 'preact/hooks';
import { useResource } from '../api/resource';
import type { Config, Entry, Health, Provider } from '../api/types';
import { Facts, Loaded, Page, Panel } from '../parts/panel';
import { Table } from '../parts/table';
import { Mark, Name } from '../parts/text';
import { href } from '../route';
import { count, percent, spaced } from '../words/format';
import { samples } from '../words/prometheus';
import { Entries } from './entries';
import { Guards } from './guards';
import { Beliefs, Stale } from './providers';

export function ProviderPage({ name, p, h }: { name: string; p: Provider; h: Health }) {
  const config = useResource<Config>(admin(['config']));
  const timeline = useResource<{ entries: Entry[] }>(admin(['timeline'], { provider: name, limit: 50 }), {
    every: 30_000,
    on: ['guard', 'order', 'discovery', 'probe'],
    least: 1000,
  });
  const settings = config.data?.providers?.find((x) => x.name === name);
  return (
    <Page title={name} lead={<a href={href('providers')}>All providers</a>} tools={p.disabled ? <Mark tone="quiet">disabled</Mark> : null}>
      <Stale />
      <Panel title="State" tools={<a href={href('requests', '', { provider: name })}>Its requests</a>}>
        <Guards name={name} p={p} h={h} level={3} />
      </Panel>
      <Outcomes name={name} />
      <Beliefs name={name} h={h} />
      <Panel title="What happened" tools={<a href={href('incidents', '', { provider: name })}>Incidents</a>}>
        <Loaded of={timeline} what="The timeline">
          {(t) => (
            <Entries
              entries={t.entries}
              caption={`What happened to ${name}`}
              empty="Nothing has happened to its guards yet."
              provider={false}
            />
          )}
        </Loaded>
      </Panel>
      {settings ? (
        <Panel title="Settings in force">
          <Facts
            columns
            rows={[
              ['Type', settings.type],
              ['Class', settings.class],
              ['Address', <Name of={settings.base_url} />],
              ['Credentials', settings.credentials.join(', ')],
              ...settings.settings.map((s): [string, preact.ComponentChildren] => [
                s.name,
                <span title={`from ${s.from}`}>{s.value}</span>,
              ]),
            ]}
          />
        </Panel>
      ) : null}
    </Page>
  );
}

const LOOK = 10_000;

/** Outcomes counts the attempts of this instance by what came of them, as the metrics have them. */
function Outcomes({ name }: { name: string }) {
  const [rows, setRows] = useState<[string, number][]>([]);
  useEffect(() => {
    const stop = new AbortController();
    const look = async (): Promise<void> => {
      try {
        const text = await (await ask('/metrics', { headers: { Accept: 'text/plain' }, signal: stop.signal })).text();
        const sums = new Map<string, number>();
        for (const s of samples(text, 'evergate_attempts_total')) {
          if (s.labels['provider'] !== name) continue;
          const outcome = s.labels['outcome'] ?? '';
          sums.set(outcome, (sums.get(outcome) ?? 0) + s.value);
        }
        setRows([...sums].sort((a, b) => b[1] - a[1]));
      } catch {
        // what was there stays; health says that the gateway is away
      }
    };
    void look();
    const timer = setInterval(() => void look(), LOOK);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [name]);
  const all = rows.reduce((sum, [, n]) => sum + n, 0);
  return (
    <Panel title="Attempts by outcome" note="Of this instance, since it started.">
      {rows.length === 0 ? (
        <p class="quiet">No attempt was made yet.</p>
      ) : (
        <Table
          caption={`Attempts at ${name} by outcome`}
          rows={rows}
          id={([what]) => what}
          columns={[
            {
              head: 'Outcome',
              rowHead: true,
              cell: ([what]) => <Mark tone={what === 'ok' ? 'good' : what === 'cancelled' ? 'quiet' : 'bad'}>{spaced(what)}</Mark>,
            },
            { head: 'Attempts', num: true, cell: ([, n]) => count(n) },
            { head: 'Share', num: true, cell: ([, n]) => percent(n / all) },
          ]}
        />
      )}
    </Panel>
  );
}
