// Models: each virtual model with its candidates in the order in which a request would try them now, and why.
import { admin } from '../api/client';
import { useResource } from '../api/resource';
import type { Candidate, Model, Models as Answer } from '../api/types';
import { Empty, Facts, Loaded, Page, Panel } from '../parts/panel';
import { Table } from '../parts/table';
import { Countdown, Mark } from '../parts/text';
import { href, route } from '../route';
import { count, ms, percent, plural, spaced } from '../words/format';

export function Models() {
  const models = useResource<Answer>(admin(['models']), { every: 10_000, on: ['guard', 'order', 'discovery', 'change'], least: 500 });
  const id = route.value.id;
  return (
    <Page
      title={id || 'Models'}
      lead={
        id ? (
          <a href={href('models')}>All models</a>
        ) : (
          'Virtual models, with their candidates in the order in which a request that came now would try them.'
        )
      }
    >
      <Loaded of={models} what="The models">
        {(a) => {
          const shown = (a.models ?? []).filter((m) => !id || m.name === id);
          return (
            <>
              {shown.length === 0 ? (
                <Empty title={id ? 'There is no virtual model of this name.' : 'No virtual model is configured.'}>
                  Declare one under models: in the config, with the targets that stand in for each other.
                </Empty>
              ) : null}
              {shown.map((m) => (
                <One key={m.name} m={m} alone={id !== ''} />
              ))}
              {id ? null : <p class="quiet">Providers offer {plural(a.plain, 'model')} under their own ids besides.</p>}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function One({ m, alone }: { m: Model; alone: boolean }) {
  return (
    <Panel
      title={
        alone ? (
          'What a request would come to now'
        ) : (
          <a class="name" href={href('models', m.name)}>
            {m.name}
          </a>
        )
      }
      tools={
        <>
          <a href={href('requests', '', { route: m.name })}>Requests</a> <a href={href('playground', '', { model: m.name })}>Try it</a>
        </>
      }
    >
      <p class="summary">{m.summary}</p>
      <Facts
        rows={[
          ['Strategy', spaced(m.strategy)],
          ['Affinity', m.affinity ? 'a conversation stays where it began' : 'off'],
          ['Hedge', m.hedge || 'off'],
          ['Resume', m.resume ? 'on' : 'off'],
          m.mirror && ['Mirror', `${percent(m.mirror.share)} of requests are copied to ${m.mirror.provider} / ${m.mirror.model}`],
          m.availability !== undefined && ['Target', percent(m.availability)],
        ]}
      />
      <Table
        caption={`Candidates of ${m.name} in their order of now`}
        rows={m.order ?? []}
        id={(c) => `${c.declared}|${c.provider}|${c.model}|${c.on ?? ''}`}
        rowClass={(c) => (c.position === 0 ? 'off' : '')}
        columns={[
          { head: 'Tried', num: true, cell: (c) => (c.position > 0 ? ordinal(c.position) : c.on ? `on ${spaced(c.on)}` : 'no') },
          {
            head: 'Candidate',
            rowHead: true,
            class: 'wrap wide',
            cell: (c) => (
              <span class="name">
                <a href={href('providers', c.provider)}>{c.provider}</a> <span class="quiet">/ {c.model}</span>
              </span>
            ),
          },
          { head: 'Why there', class: 'wrap wide', cell: (c) => c.why },
          { head: 'Blocked', class: 'wrap', cell: (c) => <Blocked c={c} /> },
          { head: 'Credential', class: 'wrap', cell: (c) => c.credential, maybe: (c) => !!c.credential },
          { head: 'First token', num: true, cell: (c) => ms(c.first_content_ms || undefined) },
          { head: 'In flight', num: true, cell: (c) => count(c.judged?.in_flight), maybe: (c) => c.judged !== undefined },
        ]}
      />
    </Panel>
  );
}

const ordinal = (n: number): string => `${n}${n % 100 > 10 && n % 100 < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th')}`;

function Blocked({ c }: { c: Candidate }) {
  const b = c.blocked;
  if (!b) return <Mark tone="good">no</Mark>;
  return (
    <>
      <Mark tone={c.forced ? 'warn' : 'bad'}>{spaced(b.guard)}</Mark>{' '}
      <span class="quiet">{b.reason === b.guard ? '' : spaced(b.reason)}</span>
      {b.until ? (
        <span class="quiet">
          {' '}
          for <Countdown to={b.until} over="no longer" />
        </span>
      ) : null}
      {c.forced ? <span class="quiet"> tried in spite of it</span> : null}
    </>
  );
}
