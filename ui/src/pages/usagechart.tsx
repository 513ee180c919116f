// Usage over time, by the first of the groups that are chosen.
import { admin } from '../api/client';
import { useResource } from '../api/resource';
import type { Usage, UsageRow } from '../api/types';
import { Chart } from '../parts/chart';
import { Choice } from '../parts/field';
import { Loaded, Panel } from '../parts/panel';
import { route, setQuery } from '../route';
import { compact, count, dollars } from '../words/format';
import { axis, stack } from '../words/usage';

const measures = {
  cost: { name: 'Cost', of: (r: UsageRow) => r.cost_usd, unit: dollars, exact: dollars },
  tokens: { name: 'Tokens', of: (r: UsageRow) => r.input_tokens + r.output_tokens, unit: compact, exact: count },
  requests: { name: 'Requests', of: (r: UsageRow) => r.requests, unit: compact, exact: count },
  attempts: { name: 'Attempts', of: (r: UsageRow) => r.attempts, unit: compact, exact: count },
};
type Measure = keyof typeof measures;

const steps: Record<string, [string, number]> = { '1h': ['minute', 60_000], '24h': ['hour', 3_600_000], '168h': ['hour', 3_600_000] };
const looks = ['c-a', 'c-b', 'c-c', 'c-d', 'c-e', 'c-f'];

export function OverTime({ by, group, from, name }: { by: string; group: string; from: string; name: (r: UsageRow) => string }) {
  const [step, length] = steps[from] ?? ['day', 86_400_000];
  const usage = useResource<Usage>(admin(['usage'], { group_by: by, from, step }), { every: 60_000, on: ['request'], least: 5_000 });
  const asked = route.value.query['chart'] as Measure;
  const which: Measure = Object.hasOwn(measures, asked ?? '') ? asked : 'cost';
  const m = measures[which];
  return (
    <Panel
      title="Over time"
      tools={
        <Choice
          label="What"
          value={which}
          set={(v) => setQuery({ chart: v })}
          options={Object.entries(measures).map(([w, x]): [string, string] => [w, x.name])}
        />
      }
    >
      <Loaded of={usage} what="The usage over time">
        {(u) => {
          if (u.rows.length === 0) return <p class="quiet">Nothing was asked in this time.</p>;
          const s = stack(u.rows, name, m.of, Date.parse(u.from), Date.parse(u.to), length);
          return (
            <Chart
              title={`${m.name} by ${group}`}
              kind="bars"
              at={s.at}
              series={s.series.map((x, i) => ({ ...x, look: looks[i % looks.length] ?? 'c-a' }))}
              unit={m.unit}
              exact={m.exact}
              when={axis(length, from)}
              note={step === 'day' ? 'Days are those of UTC.' : undefined}
            />
          );
        }}
      </Loaded>
    </Panel>
  );
}
