// Playground: sends a request to any model in any dialect, shows the answer as it comes, and how it came about.
import { useEffect, useRef, useState } from 'preact/hooks';
import { admin, get } from '../api/client';
import { listen } from '../api/live';
import { play, type Played } from '../api/play';
import { useResource } from '../api/resource';
import type { Config, FullRequest, Keys, Models, Request } from '../api/types';
import { Area, Check, Choice, Input } from '../parts/field';
import { Facts, Page, Panel } from '../parts/panel';
import { Mark, statusTone } from '../parts/text';
import { Trail } from '../parts/trail';
import { href, route, setQuery } from '../route';
import { ms } from '../words/format';
import { curl, dialects, type Ask, type Dialect } from '../words/dialects';

const REMEMBERED = 1000; // ids of requests that ended lately
const OFFERED = 2000; // models in the list of the field

interface About {
  /** data_plane: this address serves clients' requests, too. */
  data_plane: boolean;
}

export function Playground() {
  const about = useResource<About>('about.json');
  const config = useResource<Config>(admin(['config']));
  const models = useResource<Models>(admin(['models']));
  const keys = useResource<Keys>(admin(['keys'], { state: 'shadowed' })); // whether any are asked for, and as few of them as can be
  const q = route.value.query;
  const dialect = dialects.find((d) => d.word === q['dialect']) ?? dialects[0]!;
  const [plain, setPlain] = useState<string[]>([]);
  const names = (models.data?.models ?? []).map((m) => m.name);
  const model = q['model'] ?? names[0] ?? '';
  const [prompt, setPrompt] = useState('Say hello in one sentence.');
  const [system, setSystem] = useState('');
  const [tokens, setTokens] = useState('256');
  const [stream, setStream] = useState(true);
  const [key, setKey] = useState('');
  const [played, setPlayed] = useState<Played>();
  const [sent, setSent] = useState<{ d: Dialect; a: Ask }>();
  const stop = useRef<AbortController>(undefined);
  const running = played !== undefined && played.total === undefined;
  const here = about.data?.data_plane ?? true;
  const wantsKey = keys.data?.asks_for_keys ?? (config.data?.keys ?? []).length > 0;
  const ask: Ask = { model, prompt, system, stream, maxTokens: Math.max(1, Number(tokens) || 1) };

  useEffect(() => () => stop.current?.abort(), []);

  // An answer may have ended before anything of it is drawn.
  const ended = useRef<string[]>([]);
  useEffect(
    () =>
      listen((batch) => {
        const ids = batch.filter((e) => e.kind === 'request').map((e) => (e.data as Request).id);
        ended.current.push(...ids);
        ended.current.splice(0, ended.current.length - REMEMBERED);
      }),
    [],
  );

  // The models that providers have come from the data plane, which wants a key for them where it wants keys at all: one that has been seen to open it.
  const known = config.data !== undefined && (keys.data !== undefined || keys.error !== undefined);
  const lists = here && about.data !== undefined && known && (!wantsKey || played?.status === 200);
  useEffect(() => {
    if (!lists) return;
    const over = new AbortController();
    void fetch('/v1/models', { headers: key ? { Authorization: `Bearer ${key}` } : {}, signal: over.signal, credentials: 'omit' })
      .then((res) => (res.ok ? (res.json() as Promise<{ data?: { id: string }[] }>) : { data: [] }))
      .then((list) => setPlain((list.data ?? []).map((m) => String(m.id)).slice(0, OFFERED)))
      .catch(() => undefined); // the field takes any name, offered or not
    return () => over.abort();
  }, [lists]);

  const go = (): void => {
    stop.current?.abort();
    stop.current = new AbortController();
    setSent({ d: dialect, a: ask });
    setPlayed({ status: 0, headers: [], raw: '', text: '', first: undefined, total: undefined, error: '' });
    void play(dialect, ask, key, stop.current.signal, setPlayed);
  };

  return (
    <Page
      title="Playground"
      lead="A request as any client would send it. It is real: it goes to providers, costs what it costs, and counts for their guards."
    >
      <div class="halves">
        <Panel title="Request">
          {here ? null : <Elsewhere config={config.data} />}
          <form
            onSubmit={(e) => {
              e.preventDefault();
              if (here) go();
            }}
          >
            <div class="grid">
              <Input
                label="Model"
                list="models"
                value={model}
                set={(v) => setQuery({ model: v })}
                required
                hint="virtual, or provider/model"
              />
              <datalist id="models">
                {[...new Set([...names, ...plain])].map((n) => (
                  <option key={n} value={n} />
                ))}
              </datalist>
              <Choice
                label="Dialect"
                value={dialect.word}
                set={(v) => setQuery({ dialect: v === 'chat' ? undefined : v })}
                options={dialects.map((d): [string, string] => [d.word, d.name])}
              />
              <Input label="Most tokens" type="number" min={1} value={tokens} set={setTokens} required />
              {wantsKey || !here ? (
                <Input label="Gateway key" type="password" value={key} set={setKey} hint="a caller's key; it is not kept" />
              ) : null}
            </div>
            <Area label="System" value={system} set={setSystem} rows={2} />
            <Area label="Prompt" value={prompt} set={setPrompt} rows={5} required />
            <Check label="Stream" on={stream} set={setStream} />
            <div class="buttons">
              <button type="submit" class="primary" disabled={!here || running || model === '' || prompt === ''}>
                {running ? 'Asking…' : 'Send'}
              </button>
              {running ? (
                <button type="button" onClick={() => stop.current?.abort()}>
                  Stop
                </button>
              ) : null}
            </div>
          </form>
          <details open={!here}>
            <summary>As a command</summary>
            <pre class="code" tabIndex={0}>
              {curl(here ? location.origin : elsewhere(config.data), dialect, ask, wantsKey)}
            </pre>
          </details>
        </Panel>
        <Panel title="Answer">
          {played && sent ? (
            <Answer p={played} sent={sent} running={running} ended={ended.current} />
          ) : (
            <p class="quiet">Nothing was sent yet.</p>
          )}
        </Panel>
      </div>
    </Page>
  );
}

const elsewhere = (c: Config | undefined): string =>
  `${c?.data_plane_tls ? 'https' : 'http'}://${(c?.data_plane ?? 'server.listen').replace(/^(0\.0\.0\.0|\[::\])(?=:)/, location.hostname)}`;

function Elsewhere({ config }: { config: Config | undefined }) {
  return (
    <p class="stale" role="note">
      The admin API listens on an address of its own, and a page may only ask where it comes from. Clients ask at{' '}
      <code>{elsewhere(config)}</code>: send it there with the command below.
    </p>
  );
}

function Answer({ p, sent, running, ended }: { p: Played; sent: { d: Dialect; a: Ask }; running: boolean; ended: string[] }) {
  const header = (name: string): string => p.headers.find(([n]) => n === name)?.[1] ?? '';
  const id = header('x-request-id') || header('request-id');
  return (
    <>
      <p role="status">
        {p.status === 0 && running ? (
          'Waiting for an answer…'
        ) : p.status ? (
          <Mark tone={statusTone(p.status)}>{String(p.status)}</Mark>
        ) : null}{' '}
        {p.first !== undefined ? `first text after ${ms(p.first)}` : ''}
        {p.total !== undefined ? `${p.first !== undefined ? ', ' : ''}whole after ${ms(p.total)}` : ''}
      </p>
      {p.error ? (
        <p class="error" role="alert">
          {p.error}
        </p>
      ) : null}
      <div class="answer" data-testid="answer" aria-busy={running}>
        {p.text}
      </div>
      {p.headers.length > 0 ? <Facts rows={p.headers.map(([n, v]): [string, preact.ComponentChildren] => [n, <code>{v}</code>])} /> : null}
      {id ? <Story key={id} id={id} ended={ended} /> : null}
      <details>
        <summary>Raw request</summary>
        <pre class="code" tabIndex={0}>{`POST ${sent.d.path(sent.a)}\n\n${JSON.stringify(sent.d.body(sent.a), undefined, 2)}`}</pre>
      </details>
      <details>
        <summary>Raw response</summary>
        <pre class="code" tabIndex={0}>
          {p.raw}
        </pre>
      </details>
    </>
  );
}

/** Story draws the request's trail once the live feed says that it has ended. */
function Story({ id, ended }: { id: string; ended: string[] }) {
  const [r, setR] = useState<FullRequest>();
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let deaf: (() => void) | undefined;
    const show = (): void => {
      deaf?.();
      // the ledger writes in batches
      timer = setTimeout(() => void get<FullRequest>(admin(['requests', id]), stop.signal).then(setR, () => undefined), 600);
    };
    if (ended.includes(id)) show();
    else deaf = listen((batch) => batch.some((e) => e.kind === 'request' && (e.data as Request).id === id) && show());
    return () => {
      stop.abort();
      clearTimeout(timer);
      deaf?.();
    };
  }, [id]);
  return (
    <>
      <p>
        <a href={href('requests', id)}>This request</a>
      </p>
      {r ? <Trail request={r} /> : null}
    </>
  );
}
