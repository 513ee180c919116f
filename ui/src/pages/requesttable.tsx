// Requests as a table, each with the way to its own page.
import type { Request } from '../api/types';
import { Table } from '../parts/table';
import { Mark, Name, statusTone, Target, Time } from '../parts/text';
import { href } from '../route';
import { compact, dollars, ms } from '../words/format';

/** Status may break behind the underscores of its code, and only there. */
const Status = ({ r }: { r: Request }) => (
  <Mark tone={statusTone(r.status)}>
    {r.status}{' '}
    {r.code.split('_').map((word, i) => (
      <>
        {i > 0 ? (
          <>
            _<wbr />
          </>
        ) : null}
        {word}
      </>
    ))}
  </Mark>
);

export function RequestTable({ rows, caption }: { rows: Request[]; caption: string }) {
  return (
    <Table
      caption={caption}
      rows={rows}
      id={(r) => r.row}
      rowClass={(r) => (r.status >= 500 ? 'wrong' : r.rescued ? 'saved' : '')}
      columns={[
        {
          head: 'Start',
          rowHead: true,
          class: 'when',
          cell: (r) => (
            <a href={href('requests', r.row || r.id)} title={r.id}>
              <Time at={r.start} />
            </a>
          ),
        },
        { head: 'Status', class: 'wrap narrow', cell: (r) => <Status r={r} /> },
        { head: 'First token / whole', num: true, cell: (r) => `${ms(r.first_content_ms ?? undefined)} / ${ms(r.duration_ms)}` },
        {
          head: 'How',
          class: 'wrap',
          cell: (r) => (
            <>
              {r.rescued ? <Mark tone="info">rescued</Mark> : null} {r.attempts > 1 ? `${r.attempts}\u00a0attempts ` : null}
              {r.drill ? <span class="tag drill">drill</span> : null} {r.stream ? <span class="tag">stream</span> : null}
            </>
          ),
        },
        {
          head: 'Answered by',
          class: 'wrap wide',
          cell: (r) => (r.provider ? <Target provider={r.provider} model={r.model} /> : <span class="quiet">nobody</span>),
        },
        { head: 'Asked for', class: 'wrap narrow', cell: (r) => <Name of={r.asked} /> },
        { head: 'Key', class: 'wrap narrow', cell: (r) => <Name of={r.key} />, maybe: (r) => r.key !== '' },
        { head: 'Tokens in / out', num: true, cell: (r) => `${compact(r.tokens?.input)} / ${compact(r.tokens?.output)}` },
        { head: 'Cost', num: true, cell: (r) => dollars(r.cost_usd) },
      ]}
    />
  );
}
