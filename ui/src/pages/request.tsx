// One request: how it went, its trail as a timeline, and what it cost.
import { useState } from 'preact/hooks';
import { admin } from '../api/client';
import { useResource } from '../api/resource';
import type { FullRequest } from '../api/types';
import { Empty, Facts, Loaded, Page, Panel } from '../parts/panel';
import { Mark, Name, statusTone, Target, Time } from '../parts/text';
import { Trail } from '../parts/trail';
import { href } from '../route';
import { count, dollars, ms } from '../words/format';

export function RequestPage({ id }: { id: string }) {
  const request = useResource<FullRequest>(admin(['requests', id]));
  return (
    <Page title="Request" lead={<a href={href('requests')}>All requests</a>}>
      {request.error?.status === 404 ? (
        <Empty title="This request is not there.">
          It may be older than what is kept (ledger.retention, ledger.max_requests), or not have ended yet.
        </Empty>
      ) : (
        <Loaded of={request} what="The request">
          {(r) => <Shown r={r} />}
        </Loaded>
      )}
    </Page>
  );
}

function Shown({ r }: { r: FullRequest }) {
  const t = r.tokens ?? {};
  const [explain, setExplain] = useState(false);
  const past = useResource<{ summary: string }>(explain ? admin(['explain', r.row]) : undefined);
  return (
    <>
      <Panel title="How it went">
        {explain ? (
          <div role="status">
            {past.data ? <p class="summary">{past.data.summary}</p> : null}
            {past.error ? <p class="quiet">{past.error.status === 404 ? 'It is no longer kept.' : past.error.message}</p> : null}
          </div>
        ) : (
          <p>
            <button type="button" onClick={() => setExplain(true)}>
              Explain in words
            </button>
          </p>
        )}
        <Facts
          rows={[
            ['Status', <Mark tone={statusTone(r.status)}>{r.code ? `${r.status} ${r.code}` : String(r.status)}</Mark>],
            ['Asked for', <Name of={r.asked} />],
            ['Answered by', r.provider ? <Target provider={r.provider} model={r.model} /> : 'nobody'],
            ['Started', <Time at={r.start} />],
            [
              'Duration',
              `${ms(r.duration_ms)}, of it ${ms(r.upstream_ms)} at providers, ${ms(r.waits_ms)} waiting, ${ms(r.overhead_ms)} in the gateway`,
            ],
            ['First token', ms(r.first_content_ms ?? undefined)],
            r.rescued && [
              'Rescued',
              <Mark tone="info">
                {r.added_ms
                  ? `by failover, which added ${ms(r.added_ms)}${r.added_cost_usd ? ` and ${dollars(r.added_cost_usd)}` : ''}`
                  : 'by failover'}
              </Mark>,
            ],
            ['Dialect', `${r.dialect}${r.stream ? ', streamed' : ''}`],
            r.key !== '' && ['Key', r.key],
            [
              'Tokens',
              `${count(t.input)} in, ${count(t.output)} out${t.cached_input ? `, ${count(t.cached_input)} from cache` : ''}${t.cache_write ? `, ${count(t.cache_write)} written to cache` : ''}${t.reasoning ? `, ${count(t.reasoning)} reasoning` : ''}${t.estimated ? ' (in part estimated)' : ''}`,
            ],
            ['Cost', dollars(r.cost_usd)],
            r.finish !== '' && ['Finish', r.finish],
            !!r.affinity && ['Affinity', r.affinity],
            !!r.order && ['Order', r.order.replaceAll('_', ' ')],
            !!r.drill && ['Drill', r.drill.split(' ').map((id) => [<a href={href('drills', id)}>{id}</a>, ' '])],
            (r.lost ?? []).length > 0 && ['Lost in translation', r.lost?.join(', ')],
            ['Request id', <code>{r.id}</code>],
            ['Instance', <code>{r.instance}</code>],
            !!r.trace_id && ['Trace', <code>{r.trace_id}</code>],
          ]}
        />
      </Panel>
      <Panel title="Trail" note="Time runs from left to right. The mark within a bar is the first content.">
        <Trail request={r} />
        {r.trail ? (
          <p class="quiet">
            As clients see it in x-evergate-trail: <code>{r.trail}</code>
          </p>
        ) : null}
      </Panel>
      {(r.candidates ?? []).length > 0 ? (
        <Panel title="Candidates" note={r.order ? `Their order: ${r.order.replaceAll('_', ' ')}.` : undefined}>
          <ol>
            {r.candidates.map((c, i) => (
              <li key={i}>
                <Target provider={c.provider} model={c.model} />
                {c.on ? <span class="quiet"> only after {c.on.replaceAll('_', ' ')}</span> : null}
              </li>
            ))}
          </ol>
        </Panel>
      ) : null}
      {r.body ? (
        <Panel title="Bodies" note="Kept as log.bodies is on.">
          <h3>{r.body.request_cut ? 'Request, its beginning' : 'Request'}</h3>
          <pre tabIndex={0}>{r.body.request}</pre>
          <h3>{r.body.response_cut ? 'Response, its beginning' : 'Response'}</h3>
          <pre tabIndex={0}>{r.body.response}</pre>
        </Panel>
      ) : null}
    </>
  );
}
