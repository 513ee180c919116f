// Small charts in SVG. What they show stands beside them in words and, on demand, in a table; so the drawing itself is hidden from
// screen readers.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { dash } from '../words/format';
import { scale, timeTicks } from '../words/scale';

export interface Series {
  name: string;
  values: (number | null | undefined)[];
  /** look is a class of charts.css: its colour and its dashes. */
  look: string;
}

export interface ChartProps {
  title: string;
  /** at are the times of the values, ms since 1970 or, with words of their own, since any start. */
  at: number[];
  series: Series[];
  kind: 'lines' | 'bars';
  /** unit writes a value. */
  unit: (n: number | null | undefined) => string;
  /** exact writes it where it is not on the axis; unit, if there is none. */
  exact?: (n: number | null | undefined) => string;
  when: (t: number) => string;
  note?: ComponentChildren;
  /** bands are spans of time with a name, drawn behind. */
  bands?: { from: number; to: number; name: string }[];
  height?: number;
}

const LEFT = 52;
const BOTTOM = 20;
const TOP = 8;
const RIGHT = 8;

export function Chart(p: ChartProps) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [at, point] = useState(-1);
  const [table, setTable] = useState(false);
  const height = p.height ?? 150;

  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const seen = new ResizeObserver(([e]) => setWidth(Math.floor(e?.contentRect.width ?? 0)));
    seen.observe(el);
    return () => seen.disconnect();
  }, []);

  const n = p.at.length;
  const sums = p.at.map((_, i) => p.series.reduce((sum, s) => sum + (s.values[i] ?? 0), 0));
  const most = p.kind === 'bars' ? Math.max(0, ...sums) : Math.max(0, ...p.series.flatMap((s) => s.values.map((v) => v ?? 0)));
  const ticks = scale(most, height < 100 ? 2 : 4);
  const top = ticks[ticks.length - 1] ?? 1;
  const w = Math.max(0, width - LEFT - RIGHT);
  const h = height - TOP - BOTTOM;
  const slot = n > 0 ? w / n : 0;
  const x = (i: number): number => LEFT + slot * (i + 0.5);
  const y = (v: number): number => TOP + h - (v / top) * h;
  const from = p.at[0] ?? 0;
  const span = (p.at[n - 1] ?? 0) - from;
  const byTime = (t: number): number => (span > 0 ? x(0) + ((t - from) / span) * (x(n - 1) - x(0)) : x(0));
  const shown = at >= 0 && at < n ? at : -1;

  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption>
        <h3 id={id}>{p.title}</h3>
        <button type="button" class="link" aria-pressed={table} onClick={() => setTable(!table)}>
          Numbers<span class="unseen"> of {p.title}</span>
        </button>
      </figcaption>
      {p.note ? <p class="note">{p.note}</p> : null}
      <ul class="legend">
        {p.series.map((s) => (
          <li key={s.name}>
            <svg class={s.look} width="18" height="10" aria-hidden="true">
              {p.kind === 'bars' ? <rect x="4" y="0" width="10" height="10" /> : <line x1="0" y1="5" x2="18" y2="5" />}
            </svg>
            {s.name} {shown >= 0 ? <b class="num">{(p.exact ?? p.unit)(s.values[shown])}</b> : null}
          </li>
        ))}
        <li class="quiet">{shown >= 0 ? p.when(p.at[shown] ?? 0) : ' '}</li>
      </ul>
      <div
        ref={box}
        class="plot"
        onPointerMove={(e) => point(Math.floor((e.clientX - (box.current?.getBoundingClientRect().left ?? 0) - LEFT) / slot))}
        onPointerLeave={() => point(-1)}
      >
        {w > 0 && n > 0 ? (
          <svg width={width} height={height} aria-hidden="true">
            {(p.bands ?? []).map((b, i) => (
              <g key={i} class="band">
                <rect x={byTime(b.from)} y={TOP} width={Math.max(1, byTime(b.to) - byTime(b.from))} height={h} />
                <text x={byTime(b.from) + 3} y={TOP + 11}>
                  {b.name}
                </text>
              </g>
            ))}
            {ticks.map((t) => (
              <g key={t} class="tick">
                <line x1={LEFT} x2={width - RIGHT} y1={y(t)} y2={y(t)} />
                <text x={LEFT - 6} y={y(t) + 4} text-anchor="end">
                  {p.unit(t)}
                </text>
              </g>
            ))}
            {timeTicks(p.at, Math.max(2, Math.floor(w / 90))).map((i) => (
              <text key={i} class="axis" x={x(i)} y={height - 4} text-anchor={i === 0 ? 'start' : 'middle'}>
                {p.when(p.at[i] ?? 0)}
              </text>
            ))}
            {shown >= 0 ? <line class="cursor" x1={x(shown)} x2={x(shown)} y1={TOP} y2={TOP + h} /> : null}
            {p.kind === 'bars' ? (
              <Bars series={p.series} n={n} x={x} y={y} slot={slot} base={TOP + h} />
            ) : (
              p.series.map((s) => <Line key={s.name} of={s} x={x} y={y} />)
            )}
          </svg>
        ) : null}
      </div>
      {table ? <Numbers {...p} /> : null}
    </figure>
  );
}

function Bars({
  series,
  n,
  x,
  y,
  slot,
  base,
}: {
  series: Series[];
  n: number;
  x: (i: number) => number;
  y: (v: number) => number;
  slot: number;
  base: number;
}) {
  const width = Math.max(1, slot - (slot > 4 ? 1.5 : 0.25));
  const below = new Array<number>(n).fill(0);
  return (
    <>
      {series.map((s) => {
        let d = '';
        for (let i = 0; i < n; i++) {
          const v = s.values[i] ?? 0;
          if (v <= 0) continue;
          const low = below[i] ?? 0;
          const up = Math.min(y(low + v), y(low) - (low === 0 ? 1 : 0)); // what is there is seen
          d += `M${(x(i) - width / 2).toFixed(1)} ${(low === 0 ? base : y(low)).toFixed(1)}V${up.toFixed(1)}h${width.toFixed(1)}V${(low === 0 ? base : y(low)).toFixed(1)}z`;
          below[i] = low + v;
        }
        return <path key={s.name} class={`${s.look} bar`} d={d} />;
      })}
    </>
  );
}

const known = (v: number | null | undefined): v is number => v !== null && v !== undefined;

/** Line joins what is known; a value that is alone is a dot. */
function Line({ of, x, y }: { of: Series; x: (i: number) => number; y: (v: number) => number }) {
  let d = '';
  let dots = '';
  of.values.forEach((v, i) => {
    if (!known(v)) return;
    const joined = known(of.values[i - 1]);
    const at = `${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    d += (joined ? 'L' : 'M') + at;
    if (!joined && !known(of.values[i + 1])) dots += `M${at}h0.01`;
  });
  return (
    <>
      <path class={of.look} d={d} />
      {dots ? <path class={`${of.look} dots`} d={dots} /> : null}
    </>
  );
}

function Numbers({ title, at, series, unit, exact = unit, when }: ChartProps) {
  return (
    <div class="scroll short" tabIndex={0} role="group" aria-label={`Numbers of ${title}`}>
      <table>
        <caption class="unseen">{title}</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map((s) => (
              <th key={s.name} scope="col" class="num">
                {s.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {at.map((t, i) => (
            <tr key={t}>
              <th scope="row">{when(t)}</th>
              {series.map((s) => (
                <td key={s.name} class="num">
                  {known(s.values[i]) ? exact(s.values[i]) : dash}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
