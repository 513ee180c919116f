// Keys and usage: who may use the gateway, what was asked, what it came to in tokens and money, by whom and where.
import { admin, ask } from '../api/client';
import { useState } from 'preact/hooks';
import { useResource } from '../api/resource';
import type { Usage as Answer, UsageRow } from '../api/types';
import { Check, Choice, Input } from '../parts/field';
import { Empty, Loaded, Page, Panel } from '../parts/panel';
import { Table, type Column } from '../parts/table';
import { Name, Time } from '../parts/text';
import { href, route, setQuery } from '../route';
import { bucketed, compact, count, dash, dollars, percent } from '../words/format';
import { Keys } from './keys';
import { OverTime } from './usagechart';

const groups = ['key', 'team', 'owner', 'route', 'model', 'provider'] as const;
type Group = (typeof groups)[number];
const titles: Record<Group, string> = { key: 'Key', team: 'Team', owner: 'Owner', route: 'Route', model: 'Model', provider: 'Provider' };

const spans: [string, string][] = [
  ['1h', 'last hour'],
  ['24h', 'last 24 hours'],
  ['168h', 'last 7 days'],
  ['720h', 'last 30 days'],
];

/** A word of group_by: a group, or label:NAME. */
const title = (w: string): string => (w.startsWith('label:') ? w.slice(6) : (titles[w as Group] ?? w));

const said = (r: UsageRow, w: string): string => {
  const value = w.startsWith('label:') ? r.labels?.[w.slice(6)] : r[w as Group];
  return value || (w === 'key' ? 'no key' : w.startsWith('label:') && value === null ? `no ${w.slice(6)}` : dash);
};

export function Usage() {
  const q = route.value.query;
  const words = (q['by'] ?? 'key,provider,model').split(',').filter((g, i, all) => all.indexOf(g) === i);
  const chosen = words.filter((g): g is Group => groups.includes(g as Group));
  const label = words.find((w) => /^label:[^,]+$/.test(w))?.slice(6) ?? '';
  const by = label ? [...chosen, `label:${label}`] : chosen;
  const [typed, type] = useState(label);
  const from = q['from'] ?? '24h';
  const current = q['prices'] === 'current';
  const query = { group_by: by.join(','), from, ...(current ? { prices: 'current' } : {}) };
  const usage = useResource<Answer>(admin(['usage'], query), { every: 30_000, on: ['request'], least: 5_000 });
  const set = (next: string[]): void => setQuery({ by: next.join(',') || 'none' });
  const withLabel = (list: string[], name: string): string[] => (name ? [...list, `label:${name}`] : list);
  const first = by[0] ?? '';
  return (
    <Page title="Keys & usage" lead="Tokens and money of all attempts, failed ones too. A request counts where it was answered.">
      <Keys />
      <form
        class="filters"
        aria-label="What usage is shown"
        onSubmit={(e) => {
          e.preventDefault();
          set(withLabel(chosen, typed.replaceAll(',', '').trim()));
        }}
      >
        <Choice
          label="Time"
          value={from}
          set={(v) => setQuery({ from: v })}
          options={spans.some(([s]) => s === from) ? spans : [...spans, [from, from]]}
        />
        <fieldset>
          <legend>Group by</legend>
          {groups.map((g) => (
            <Check
              key={g}
              label={titles[g]}
              on={chosen.includes(g)}
              set={(on) =>
                set(
                  withLabel(
                    groups.filter((x) => (x === g ? on : chosen.includes(x))),
                    label,
                  ),
                )
              }
            />
          ))}
        </fieldset>
        <Input label="and by a label" value={typed} set={type} hint="its name, then Enter" maxLength={64} />
        <Check label="Today's prices, too" on={current} set={(on) => setQuery({ prices: on ? 'current' : undefined })} />
      </form>
      <OverTime by={first} group={first ? title(first).toLowerCase() : 'all'} from={from} name={(r) => (first ? said(r, first) : 'all')} />
      <Panel
        title="Usage"
        tools={<Save path={admin(['usage'], { ...query, format: 'csv' })} name="evergate-usage.csv" words="Download CSV" />}
      >
        <Loaded of={usage} what="The usage">
          {(a) => <Rows a={a} by={by} current={current} />}
        </Loaded>
      </Panel>
      <Export from={from} />
    </Page>
  );
}

/** Export gives every request, or every attempt, of the time as a file. */
function Export({ from }: { from: string }) {
  const [kind, setKind] = useState('requests');
  const [format, setFormat] = useState('csv');
  return (
    <Panel title="Export" note="Each request, or each attempt, of the time above: a row with its tokens and its cost.">
      <form class="filters" aria-label="What is exported" onSubmit={(e) => e.preventDefault()}>
        <Choice label="Rows" value={kind} set={setKind} options={['requests', 'attempts']} />
        <Choice
          label="Format"
          value={format}
          set={setFormat}
          options={[
            ['csv', 'CSV'],
            ['json', 'JSON'],
            ['jsonl', 'JSON Lines'],
            ['parquet', 'Parquet'],
          ]}
        />
        <Save path={admin(['usage', 'export'], { kind, from, format })} name={`evergate-${kind}.${format}`} words="Export" />
      </form>
    </Panel>
  );
}

function Rows({ a, by, current }: { a: Answer; by: string[]; current: boolean }) {
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
      head: title(g),
      rowHead: i === 0,
      class: 'wrap',
      cell: (r) => <Name of={said(r, g)} />,
    })),
    { head: 'Cost', num: true, cell: (r) => <Cost r={r} /> },
    ...(current ? [{ head: 'At today’s prices', num: true, cell: (r: UsageRow) => dollars(r.current_cost_usd) }] : []),
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
        id={(r) => JSON.stringify(by.map((g) => said(r, g)))}
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

/** Save fetches a file itself, as a link could not carry the token. */
function Save({ path, name, words }: { path: string; name: string; words: string }) {
  const [wrong, setWrong] = useState('');
  const save = async (): Promise<void> => {
    setWrong('');
    try {
      const blob = await (await ask(path, { headers: { Accept: '*/*' } })).blob();
      const url = URL.createObjectURL(blob);
      const a = document.createElement('a');
      a.href = url;
      a.download = name;
      a.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (err) {
      setWrong(err instanceof Error ? err.message : String(err));
    }
  };
  return (
    <div class="buttons">
      <button type="button" onClick={() => void save()}>
        {words}
      </button>
      {wrong ? <span role="alert">{wrong}</span> : null}
    </div>
  );
}
