// Entries of the timeline, as a table.
import type { Entry } from '../api/types';
import { Empty } from '../parts/panel';
import { Table } from '../parts/table';
import { breakerTone, Countdown, discoveryTone, Mark, Name, Target, Time, type Tone } from '../parts/text';
import { href } from '../route';
import { spaced } from '../words/format';
import { guardWords } from '../words/incidents';

function tone(e: Entry): Tone {
  switch (e.kind) {
    case 'guard':
      return e.guard === 'circuit_breaker' ? breakerTone(e.to ?? '') : e.to === 'ok' ? 'good' : 'warn';
    case 'discovery':
      return discoveryTone(e.to ?? '');
    case 'probe':
      return (e.reason || e.to) === 'ok' ? 'good' : 'bad';
    case 'change':
      return !e.to || e.to === 'ok' ? 'info' : 'bad';
    default:
      return 'info';
  }
}

function what(e: Entry): string {
  switch (e.kind) {
    case 'guard':
      return guardWords(e);
    case 'order':
      return `order: ${spaced(e.guard ?? '')} the breaker${e.model ? ` of model ${e.model}` : ''}`;
    case 'change':
      return [spaced(e.guard ?? ''), e.from].filter(Boolean).join(' ');
    default:
      return e.kind;
  }
}

export function Entries({
  entries,
  caption,
  empty,
  provider = true,
}: {
  entries: Entry[];
  caption: string;
  empty: string;
  provider?: boolean;
}) {
  if (entries.length === 0) return <Empty title={empty} />;
  const several = entries.some((e) => e.instance !== entries[0]?.instance);
  return (
    <Table
      caption={caption}
      rows={entries}
      id={(e) => e.row}
      columns={[
        { head: 'Time', rowHead: true, class: 'when', cell: (e) => <Time at={e.at} /> },
        ...(provider
          ? [
              {
                head: 'Provider',
                class: 'wrap',
                cell: (e: Entry) =>
                  e.provider ? (
                    <a class="name" href={href('providers', e.provider)}>
                      {e.provider}
                    </a>
                  ) : (
                    <Target provider="" />
                  ),
              },
            ]
          : []),
        { head: 'What', class: 'wrap', cell: (e) => what(e) },
        {
          head: 'Became',
          class: 'wrap',
          cell: (e) => (
            <>
              {e.to || e.kind === 'probe' ? <Mark tone={tone(e)}>{spaced(e.to || e.reason || '')}</Mark> : null}
              {e.from && e.kind !== 'change' ? <span class="quiet"> from {spaced(e.from)}</span> : null}
            </>
          ),
        },
        {
          head: 'Why',
          class: 'wrap',
          cell: (e) => (
            <>
              {[
                e.guard === 'circuit_breaker'
                  ? e.to === 'open'
                    ? spaced(e.trip ?? '')
                    : ''
                  : e.kind === 'guard'
                    ? spaced(e.reason ?? '')
                    : e.reason,
                e.message,
              ]
                .filter(Boolean)
                .join(': ')}
              {e.by ? <span class="quiet"> by {e.by}</span> : null}
            </>
          ),
        },
        { head: 'Until', cell: (e) => (e.until ? <Countdown to={e.until} over="past" /> : null), maybe: (e) => !!e.until },
        {
          head: 'Request',
          class: 'wrap',
          cell: (e) => (e.request_id ? <a href={href('requests', e.request_id)}>{short(e.request_id)}</a> : null),
          maybe: (e) => !!e.request_id,
        },
        { head: 'Instance', class: 'wrap', cell: (e) => <Name of={short(e.instance)} />, maybe: () => several },
      ]}
    />
  );
}

/** short is enough of an id to tell it from others. */
export const short = (id: string): string => (id.length > 13 ? id.slice(0, 12) + '…' : id);
