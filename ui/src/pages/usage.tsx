// Keys and usage: what was asked, what it came to in tokens and money, by whom and where.
import { admin, ask } from '../api/client';
import { useState } from 'preact/hooks';
import { useResource } from '../api/resource';
import type { Config, Usage as Answer, UsageRow } from '../api/types';
import { Check, Choice } from '../parts/field';
import { Empty, Loaded, Page, Panel } from '../parts/panel';
import { Table, type Column } from '../parts/table';
import { Name, Time } from '../parts/text';
import { href, route, setQuery } from '../route';
import { bucketed, compact, count, dash, dollars, percent } from '../words/format';

const groups = ['key', 'route', 'model', 'provider'] as const;
type Group = (typeof groups)[number];
const titles: Record<Group, string> = { key: 'Key', route: 'Route', model: 'Model', provider: 'Provider' };

const spans: [string, string][] = [
  ['1h', 'last hour'],
  ['24h', 'last 24 hours'],
  ['168h', 'last 7 days'],
  ['720h', 'last 30 days'],
];

export function Usage() {
  const q = route.value.query;
  const by = (q['by'] ?? 'key,provider,model').split(',').filter((g): g is Group => groups.includes(g as Group));
  const from = q['from'] ?? '24h';
  const query = { group_by: by.join(','), from };
  const usage = useResource<Answer>(admin(['usage'], query), { every: 30_000, on: ['request'], least: 5_000 });
  const config = useResource<Config>(admin(['config']));
  const set = (g: Group, on: boolean): void => {
    const next = groups.filter((x) => (x === g ? on : by.includes(x))).join(',');
    setQuery({ by: next || 'none' });
  };
  return (
    <Page title="Keys & usage" lead="Tokens and money of all attempts, failed ones too. A request counts where it was answered.">
      <form class="filters" aria-label="What is shown" onSubmit={(e) => e.preventDefault()}>
        <Choice
          label="Time"
          value={from}
          set={(v) => setQuery({ from: v })}
          options={spans.some(([s]) => s === from) ? spans : [...spans, [from, from]]}
        />
        <fieldset>
          <legend>Group by</legend>
          {groups.map((g) => (
            <Check key={g} label={titles[g]} on={by.includes(g)} set={(on) => set(g, on)} />
          ))}
        </fieldset>
        <CSV path={admin(['usage'], { ...query, format: 'csv' })} />
      </form>
      <Panel title="Usage">
        <Loaded of={usage} what="The usage">
          {(a) => <Rows a={a} by={by} />}
        </Loaded>
      </Panel>
      <Panel title="Keys" note="Callers' keys by name. Their values are nowhere to be seen.">
        <Loaded of={config} what="The list of keys">
          {(c) =>
            (c.keys ?? []).length === 0 ? (
              <Empty title="No keys: whoever reaches the gateway may use it.">
                Set auth in the config to give each caller a key of its own; usage then shows under its name.
              </Empty>
            ) : (
              <ul class="columns">
                {(c.keys ?? []).map((k) => (
                  <li key={k}>
                    <a class="name" href={href('requests', '', { key: k })}>
                      {k}
                    </a>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </Panel>
    </Page>
  );
}

function Rows({ a, by }: { a: Answer; by: Group[] }) {
  if (a.rows.length === 0) {
    return (
      <Empty title="Nothing was asked in this time.">
        Choose a longer time, or send a request from the <a href={href('playground')}>playground</a>.
      </Empty>
    );
  }
  const rows = [...a.rows].sort((x, y) => y.cost_usd - x.cost_usd || y.attempts - x.attempts);
  const every: Column<UsageRow>[] = [
    ...by.map((g, i): Column<UsageRow> => ({
      head: titles[g],
      rowHead: i === 0,
      class: 'wrap',
      cell: (r) => <Name of={r[g] || (g === 'key' ? 'no key' : dash)} />,
    })),
    { head: 'Cost', num: true, cell: (r) => <Cost r={r} /> },
    { head: 'Requests', num: true, cell: (r) => count(r.requests) },
    { head: 'Attempts', num: true, cell: (r) => count(r.attempts) },
    { head: 'Availability', num: true, cell: (r) => percent(r.availability) },
    { head: 'Rescued', num: true, cell: (r) => count(r.rescued) },
    { head: 'Input', num: true, cell: (r) => compact(r.input_tokens) },
    { head: 'Output', num: true, cell: (r) => compact(r.output_tokens) },
    { head: 'Cached', num: true, cell: (r) => compact(r.cached_input_tokens), maybe: (r) => r.cached_input_tokens > 0 },
    { head: 'Estimated', num: true, cell: (r) => compact(r.estimated_tokens), maybe: (r) => r.estimated_tokens > 0 },
    {
      head: 'First token p50 / p95',
      num: true,
      cell: (r) => `${bucketed(r.first_content_ms?.p50)} / ${bucketed(r.first_content_ms?.p95)}`,
    },
  ];
  const columns = every.filter((c) => !c.maybe || rows.some(c.maybe));
  const t = a.total;
  return (
    <>
      <p class="quiet">
        <Time at={a.from} /> to <Time at={a.to} />
      </p>
      <Table
        caption="Usage"
        rows={rows}
        id={(r) => JSON.stringify(by.map((g) => r[g]))}
        columns={columns}
        foot={
          <tfoot>
            <tr>
              {columns.map((c, i) =>
                i === 0 && by.length > 0 ? (
                  <th key="all" scope="row" colSpan={by.length}>
                    All
                  </th>
                ) : i < by.length ? null : (
                  <td key={i} class="num">
                    {c.cell(t)}
                  </td>
                ),
              )}
            </tr>
          </tfoot>
        }
      />
    </>
  );
}

function Cost({ r }: { r: UsageRow }) {
  const part = r.unpriced_attempts > 0;
  return (
    <span title={part ? `${count(r.unpriced_attempts)} attempts have no known price` : undefined}>
      {part && r.unpriced_attempts >= r.attempts ? 'unpriced' : `${part ? '≥ ' : ''}${dollars(r.cost_usd)}`}
    </span>
  );
}

/** CSV fetches the file itself, as a link could not carry the token. */
function CSV({ path }: { path: string }) {
  const [wrong, setWrong] = useState('');
  const save = async (): Promise<void> => {
    setWrong('');
    try {
      const blob = await (await ask(path, { headers: { Accept: 'text/csv' } })).blob();
      const url = URL.createObjectURL(blob);
      const a = document.createElement('a');
      a.href = url;
      a.download = 'evergate-usage.csv';
      a.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (err) {
      setWrong(err instanceof Error ? err.message : String(err));
    }
  };
  return (
    <div class="buttons">
      <button type="button" onClick={() => void save()}>
        Download CSV
      </button>
      {wrong ? <span role="alert">{wrong}</span> : null}
    </div>
  );
}
