// Who is told when something is the matter, what became of it, and a test.
import { useState } from 'preact/hooks';
import { admin, send } from '../api/client';
import { useResource } from '../api/resource';
import type { AlertTest, Receiver } from '../api/types';
import { Empty, Loaded, Panel } from '../parts/panel';
import { Table } from '../parts/table';
import { Ago, Mark, Name } from '../parts/text';
import { count, ms, spaced } from '../words/format';

export function Receivers() {
  const receivers = useResource<{ receivers: Receiver[] }>(admin(['alerts']), { every: 15_000 });
  return (
    <Panel title="Alerts" note="Who is told by the gateway itself. Addresses are secrets, and shown nowhere.">
      <Loaded of={receivers} what="The list of receivers">
        {(a) =>
          a.receivers.length === 0 ? (
            <Empty title="Nobody is told.">Name a webhook or a Slack channel under alerts: in the config.</Empty>
          ) : (
            <Table
              caption="Receivers of alerts"
              rows={a.receivers}
              id={(r) => r.name}
              columns={[
                { head: 'Receiver', rowHead: true, class: 'wrap', cell: (r) => <Name of={r.name} /> },
                { head: 'Format', cell: (r) => `${r.format}${r.signed ? ', signed' : ''}` },
                { head: 'Events', class: 'wrap wide', cell: (r) => r.on.map(spaced).join(', ') },
                { head: 'After', num: true, cell: (r) => (r.for_ms ? ms(r.for_ms) : 'at once') },
                { head: 'Delivered', num: true, cell: (r) => count(r.delivered) },
                { head: 'Failed', num: true, cell: (r) => count(r.failed) },
                { head: 'Dropped', num: true, cell: (r) => count(r.dropped) },
                { head: 'Waiting', num: true, cell: (r) => count(r.waiting) },
                { head: 'Last', class: 'wrap', cell: (r) => <Last r={r} /> },
                { head: 'Test', class: 'wrap', cell: (r) => <Test name={r.name} done={receivers.reload} /> },
              ]}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}

const Last = ({ r }: { r: Receiver }) => (
  <>
    {r.last_delivered ? <Ago at={r.last_delivered} /> : 'none yet'}
    {r.message ? (
      <>
        {' '}
        <Mark tone="bad">{r.message}</Mark>
      </>
    ) : null}
  </>
);

function Test({ name, done }: { name: string; done: () => void }) {
  const [busy, setBusy] = useState(false);
  const [came, setCame] = useState<AlertTest>();
  const [error, setError] = useState('');
  const test = async (): Promise<void> => {
    setBusy(true);
    setError('');
    setCame(undefined);
    try {
      setCame(await send<AlertTest>('POST', admin(['alerts', 'test']), { receiver: name }));
      done();
    } catch (err) {
      setError(err instanceof Error ? err.message : String(err));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" disabled={busy} onClick={() => void test()}>
        {busy ? 'Sending…' : 'Send'}
        <span class="unseen"> a test to {name}</span>
      </button>
      <p role="status">
        {came ? (
          <Mark tone={came.delivered ? 'good' : 'bad'}>
            {came.delivered ? `delivered in ${ms(came.duration_ms)}` : [came.status || '', came.message].filter(Boolean).join(' ')}
          </Mark>
        ) : null}
        {error ? <Mark tone="bad">{error}</Mark> : null}
      </p>
    </>
  );
}
