// Drills: faults on purpose (R74). The list, the form that starts one, and the report of one.
import { useState } from 'preact/hooks';
import { admin, APIError, send } from '../api/client';
import { useResource } from '../api/resource';
import type { Fault, FaultReport } from '../api/types';
import { announce } from '../parts/announce';
import { Dialog } from '../parts/dialog';
import { Input } from '../parts/field';
import { Empty, Facts, Figure, Loaded, Page, Panel } from '../parts/panel';
import { Table } from '../parts/table';
import { Countdown, Mark, Time } from '../parts/text';
import { href, route } from '../route';
import { count, dash, ms, percent, spaced } from '../words/format';
import { shapeWords } from '../words/shape';
import { NewDrill } from './newdrill';

const fresh = { every: 5_000, on: ['change', 'guard'], least: 500 };

export function Drills() {
  return route.value.id ? <Report id={route.value.id} /> : <List />;
}

function List() {
  const faults = useResource<{ faults: Fault[] }>(admin(['faults']), fresh);
  const [starting, start] = useState(false);
  return (
    <Page
      title="Drills"
      lead="A drill lets chosen attempts meet a fault on purpose, for a while and within a budget, to see what users would feel. It ends by itself."
      tools={
        <button type="button" class="primary" aria-haspopup="dialog" onClick={() => start(true)}>
          Start a drill…
        </button>
      }
    >
      {starting ? <NewDrill close={() => start(false)} done={faults.reload} /> : null}
      <Panel title="Drills">
        <Loaded of={faults} what="The list of drills">
          {(a) =>
            a.faults.length === 0 ? (
              <Empty title="No drill is running, and none was of late.">
                Start one with a small share and a short time, and watch the overview.
              </Empty>
            ) : (
              <Table
                caption="Drills"
                rows={a.faults}
                id={(f) => f.id}
                columns={[
                  { head: 'Drill', rowHead: true, class: 'wrap', cell: (f) => <a href={href('drills', f.id)}>{f.id}</a> },
                  { head: 'State', cell: (f) => <State f={f} /> },
                  { head: 'Fault', class: 'wrap', cell: (f) => shapeWords(f.shape) },
                  { head: 'Who meets it', class: 'wrap', cell: (f) => matched(f) },
                  { head: 'Met', num: true, cell: (f) => `${count(f.counts?.injected)} of ${count(f.budget)}` },
                  { head: 'Rescued', num: true, cell: (f) => count(f.counts?.rescued) },
                  { head: 'Failed', num: true, cell: (f) => count(f.counts?.failed) },
                  { head: 'Why', class: 'wrap', cell: (f) => f.reason },
                  { head: 'Stop', cell: (f) => (f.state === 'running' ? <Stop id={f.id} done={faults.reload} /> : null) },
                ]}
              />
            )
          }
        </Loaded>
      </Panel>
    </Page>
  );
}

function State({ f }: { f: Fault }) {
  return f.state === 'running' ? (
    <>
      <Mark tone="warn">running</Mark>{' '}
      <span class="quiet">
        for <Countdown to={f.until} over="no longer" />
      </span>
    </>
  ) : (
    <Mark tone="quiet">{`ended: ${spaced(f.ended?.why ?? '')}`}</Mark>
  );
}

function matched(f: Fault): string {
  const parts = [
    f.share < 1 ? `${percent(f.share)} of attempts` : 'every attempt',
    f.provider && `at ${f.provider}`,
    f.model && `for ${f.model}`,
    f.key && `of key ${f.key}`,
    f.header && `with header ${f.header.name}${f.header.value ? ': ' + f.header.value : ''}`,
  ];
  return parts.filter(Boolean).join(' ');
}

function Stop({ id, done }: { id: string; done: () => void }) {
  const [asking, ask] = useState(false);
  const [reason, setReason] = useState('');
  const [error, setError] = useState('');
  const stop = async (): Promise<void> => {
    try {
      await send('DELETE', admin(['faults', id]), { reason: reason.trim() });
      announce(`The drill ${id} was stopped`);
      done();
      ask(false);
    } catch (err) {
      setError(err instanceof APIError ? err.message : String(err));
    }
  };
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => ask(true)}>
        Stop<span class="unseen"> drill {id}</span>…
      </button>
      {asking ? (
        <Dialog title={`Stop the drill ${id}`} close={() => ask(false)}>
          <form
            onSubmit={(e) => {
              e.preventDefault();
              void stop();
            }}
          >
            <Input label="Reason" value={reason} set={setReason} hint="For the audit log." maxLength={500} />
            {error ? (
              <p class="error" role="alert">
                {error}
              </p>
            ) : null}
            <div class="buttons">
              <button type="submit" class="primary">
                Stop it
              </button>
              <button type="button" onClick={() => ask(false)}>
                Cancel
              </button>
            </div>
          </form>
        </Dialog>
      ) : null}
    </>
  );
}

function Report({ id }: { id: string }) {
  const report = useResource<FaultReport>(admin(['faults', id]), { ...fresh, on: ['change', 'guard', 'request'], least: 1000 });
  return (
    <Page
      title="Drill"
      lead={<a href={href('drills')}>All drills</a>}
      tools={report.data?.state === 'running' ? <Stop id={id} done={report.reload} /> : null}
    >
      {report.error?.status === 404 && !report.data ? (
        <Empty title="This drill is not known.">Only those that run and the last that did are.</Empty>
      ) : (
        <Loaded of={report} what="The report">
          {(f) => <Shown f={f} />}
        </Loaded>
      )}
    </Page>
  );
}

function Shown({ f }: { f: FaultReport }) {
  const c = f.counts ?? {};
  return (
    <>
      <Panel title="What was done">
        <Facts
          rows={[
            ['Drill', <code>{f.id}</code>],
            ['State', <State f={f} />],
            ['Fault', shapeWords(f.shape)],
            ['Who meets it', matched(f)],
            [
              'Started',
              <>
                <Time at={f.since} />
                {f.by ? ` by ${f.by}` : ''}
              </>,
            ],
            ['Ends', <Time at={f.until} />],
            !!f.ended && [
              'Ended',
              <>
                <Time at={f.ended.at} />
                {`: ${spaced(f.ended.why)}`}
                {f.ended.reason ? `, ${f.ended.reason}` : ''}
                {f.ended.by ? ` (${f.ended.by})` : ''}
              </>,
            ],
            ['Budget', `${count(c.injected)} of ${count(f.budget)} met the fault`],
            f.max_user_errors > 0 && ['Ends at', `${count(f.max_user_errors)} failed requests`],
            ['Why', f.reason],
          ]}
        />
      </Panel>
      <Panel
        title="What users felt"
        tools={<a href={href('requests', '', { drill: f.id })}>Its requests</a>}
        note={f.instances > 1 ? `In the whole fleet of ${f.instances} instances.` : undefined}
      >
        <dl class="figures">
          <Figure label="Attempts that met it" value={count(c.injected)} />
          <Figure label="Requests touched" value={count(c.requests)} />
          <Figure label="Rescued" value={count(c.rescued)} note={c.requests ? percent((c.rescued ?? 0) / c.requests) : ''} />
          <Figure label="Failed" value={count(c.failed)} tone={c.failed ? 'bad' : ''} />
          <Figure
            label="Time added"
            value={c.added_ms === undefined ? dash : ms(c.rescued ? c.added_ms / c.rescued : 0)}
            note="a rescued request"
          />
        </dl>
      </Panel>
      <Panel title="What the guards did" note="Here, on this instance.">
        {(f.guards ?? []).length === 0 ? (
          <p class="quiet">Nothing.</p>
        ) : (
          <Table
            caption="Transitions of guards"
            rows={f.guards}
            id={(g) => g.transition}
            columns={[
              { head: 'Transition', rowHead: true, class: 'wrap', cell: (g) => spaced(g.transition).replace('>', ' → ') },
              { head: 'Times', num: true, cell: (g) => count(g.count) },
            ]}
          />
        )}
      </Panel>
    </>
  );
}
