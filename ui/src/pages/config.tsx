// Config: what is in force, without its secrets, and what is wrong with it.
import { useState } from 'preact/hooks';
import { admin, APIError, send } from '../api/client';
import { useResource } from '../api/resource';
import type { Config as Answer, Problem } from '../api/types';
import { announce } from '../parts/announce';
import { Dialog } from '../parts/dialog';
import { Input } from '../parts/field';
import { Facts, Loaded, Page, Panel } from '../parts/panel';
import { Table } from '../parts/table';
import { Mark, Name, Time } from '../parts/text';
import { href } from '../route';
import { plural } from '../words/format';
import { Receivers } from './receivers';

export function Config() {
  const config = useResource<Answer>(admin(['config']), { on: ['change'], least: 500 });
  const [asking, ask] = useState(false);
  return (
    <Page
      title="Config"
      lead="The config in force. Secrets are masked here and never leave the gateway."
      tools={
        <button type="button" aria-haspopup="dialog" onClick={() => ask(true)}>
          Reload…
        </button>
      }
    >
      {asking ? <Reload close={() => ask(false)} done={config.reload} /> : null}
      <Loaded of={config} what="The config">
        {(c) => (
          <>
            <Panel title="File">
              <Facts
                rows={[
                  ['File', c.file ? <code>{c.file}</code> : 'none: the providers come from the environment'],
                  ['In force since', <Time at={c.loaded_at} />],
                  !!c.data_plane && ['Clients ask at', <code>{c.data_plane}</code>],
                ]}
              />
              <Problems of={c.problems ?? []} />
              <pre class="code" tabIndex={0} aria-label="Config as YAML" role="group">
                {c.yaml}
              </pre>
            </Panel>
            <Receivers />
            {(c.providers ?? []).map((p) => (
              <Panel
                key={p.name}
                title={
                  <>
                    Provider{' '}
                    <a class="name" href={href('providers', p.name)}>
                      {p.name}
                    </a>
                  </>
                }
                tools={p.disabled ? <Mark tone="quiet">disabled</Mark> : null}
              >
                <Facts
                  rows={[
                    ['Type', p.type],
                    ['Class', p.class],
                    ['Address', <Name of={p.base_url} />],
                    ['Credentials', p.credentials.join(', ') || 'none'],
                  ]}
                />
                {p.settings.length > 0 ? (
                  <details>
                    <summary>{plural(p.settings.length, 'setting')} in force</summary>
                    <Table
                      caption={`Settings of ${p.name}`}
                      rows={p.settings}
                      id={(s) => s.name}
                      columns={[
                        { head: 'Setting', rowHead: true, class: 'wrap', cell: (s) => s.name },
                        { head: 'Value', class: 'wrap', cell: (s) => <code>{s.value}</code> },
                        { head: 'From', class: 'wrap', cell: (s) => s.from },
                      ]}
                    />
                  </details>
                ) : null}
              </Panel>
            ))}
          </>
        )}
      </Loaded>
    </Page>
  );
}

export function Problems({ of }: { of: Problem[] }) {
  if (of.length === 0)
    return (
      <p>
        <Mark tone="good">no problems</Mark>
      </p>
    );
  return (
    <div class="failure" role="alert">
      <p>
        <strong>{plural(of.length, 'problem')}</strong>
      </p>
      <ul>
        {of.map((p, i) => (
          <li key={i}>
            {p.line ? <code>{`${p.file ?? ''}:${p.line}${p.column ? ':' + p.column : ''}`}</code> : null}{' '}
            {p.path ? <code>{p.path}</code> : null} {p.message}
            {p.suggestion ? <span class="quiet"> {p.suggestion}</span> : null}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Reload({ close, done }: { close: () => void; done: () => void }) {
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<APIError>();
  const reload = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await send('POST', admin(['reload']), reason.trim() ? { reason: reason.trim() } : {});
      announce('The config was reloaded');
      done();
      close();
    } catch (err) {
      setError(err instanceof APIError ? err : new APIError(0, '', String(err)));
      setBusy(false);
    }
  };
  const problems = (error?.details as { problems?: Problem[] } | undefined)?.problems;
  return (
    <Dialog title="Reload the config" close={close}>
      <p>The file is read anew. If it has mistakes, they are shown here and what is in force stays.</p>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void reload();
        }}
      >
        <Input label="Reason" value={reason} set={setReason} hint="For the audit log." maxLength={500} />
        {error ? (
          <p class="error" role="alert">
            {error.message}
          </p>
        ) : null}
        {problems ? <Problems of={problems} /> : null}
        <div class="buttons">
          <button type="submit" class="primary" disabled={busy}>
            {busy ? 'Reloading…' : 'Reload it'}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
