// The frame around every page: navigation, how the live feed fares, the theme, who is logged in; and the question for the token.
import type { FunctionComponent } from 'preact';
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import { get, locked, login, logout, token, APIError, admin } from './api/client';
import { live, lost } from './api/live';
import { announced } from './parts/announce';
import { Input } from './parts/field';
import { Empty, Page } from './parts/panel';
import { Mark, type Tone } from './parts/text';
import { health, watchChanges } from './state';
import { pages } from './pages';
import { href, route } from './route';
import { theme, type Theme } from './theme';
import { clock, plural } from './words/format';

export function Shell() {
  const [menu, setMenu] = useState(false);
  const r = route.value;
  const page = pages.find((p) => p.path === r.page);
  const first = useRef(true);
  useEffect(watchChanges, []);
  useEffect(() => {
    setMenu(false);
    if (first.current) {
      first.current = false;
      return;
    }
    scrollTo(0, 0);
    document.getElementById('title')?.focus({ preventScroll: true });
  }, [r.page, r.id]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(e) => {
          e.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        Skip to the page
      </a>
      <header class="top">
        <button type="button" class="menu" aria-expanded={menu} aria-controls="nav" onClick={() => setMenu(!menu)}>
          Menu
        </button>
        <a class="brand" href={href('overview')}>
          Evergate
        </a>
        <LiveMark />
        <span class="grow" />
        <ThemeSwitch />
        {token.value && !locked.value ? (
          <button type="button" onClick={logout}>
            Log out
          </button>
        ) : null}
      </header>
      <div class="frame">
        <nav id="nav" aria-label="Pages" class={menu ? 'shown' : ''} onKeyDown={(e) => e.key === 'Escape' && setMenu(false)}>
          <ul>
            {pages.map((p) => (
              <li key={p.path}>
                <a href={href(p.path)} aria-current={p.path === r.page ? 'page' : undefined} onClick={() => setMenu(false)}>
                  {p.name}
                </a>
              </li>
            ))}
          </ul>
          <Instance />
        </nav>
        <main id="main" tabIndex={-1}>
          {locked.value ? <Login /> : page ? <Shown key={r.page + '/' + r.id} view={page.view} name={page.name} /> : <Unknown />}
        </main>
      </div>
      <div class="unseen" aria-live="polite" data-testid="announcements">
        {announced.value}
      </div>
    </>
  );
}

/** Shown is a page; should it break, the frame around it stays, and says so. */
function Shown({ view: View, name }: { view: FunctionComponent; name: string }) {
  const [error, again] = useErrorBoundary((err) => console.error(err));
  if (!error) return <View />;
  return (
    <Page title={name}>
      <div class="failure" role="alert">
        <p>
          <strong>This page broke.</strong> {error instanceof Error ? error.message : String(error)}
        </p>
        <p class="quiet">It is a bug of the dashboard. The gateway itself is not touched by it.</p>
        <button type="button" onClick={again}>
          Try again
        </button>
      </div>
    </Page>
  );
}

const Unknown = () => (
  <Page title="No such page">
    <Empty title="There is no page at this address.">
      <a href={href('overview')}>Go to the overview</a>
    </Empty>
  </Page>
);

function LiveMark() {
  const l = live.value;
  const since = clock(l.since, Date.now());
  const [tone, text]: [Tone, string] =
    l.state === 'live'
      ? ['good', 'Live']
      : l.state === 'connecting'
        ? ['quiet', 'Connecting']
        : l.state === 'off'
          ? ['quiet', 'Locked']
          : l.state === 'away'
            ? ['quiet', `Paused since ${since}`]
            : ['warn', `Reconnecting, stale since ${since}`];
  return (
    <p class="live" role="status" aria-label="Live feed">
      <Mark tone={tone} title={l.message || `since ${since}`}>
        {text}
      </Mark>
      {lost.value > 0 ? <span class="quiet"> {plural(lost.value, 'event')} left out</span> : null}
    </p>
  );
}

function ThemeSwitch() {
  return (
    <label class="theme">
      <span class="unseen">Theme</span>
      <select id="theme" value={theme.value} onChange={(e) => (theme.value = e.currentTarget.value as Theme)}>
        {(['system', 'light', 'dark'] as const).map((t) => (
          <option key={t} value={t} selected={t === theme.value}>
            {{ system: 'Auto', light: 'Light', dark: 'Dark' }[t]}
          </option>
        ))}
      </select>
    </label>
  );
}

function Instance() {
  const h = health.value;
  if (!h) return null;
  const self = (h.instances ?? []).find((i) => i.self);
  const others = (h.instances ?? []).filter((i) => !i.self && !i.left && !i.silent).length;
  return (
    <p class="instance quiet">
      Instance <span class="name">{h.instance}</span>
      {self?.version ? `, ${self.version}` : ''}
      {others > 0 ? `, with ${plural(others, 'other')}` : ''}
      <br />
      State in {h.state?.store ?? 'memory'}
      {h.state && !h.state.reached ? <Mark tone="bad">not reached</Mark> : null}
    </p>
  );
}

function Login() {
  const [given, setGiven] = useState('');
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const enter = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    token.value = given; // for this one question
    try {
      await get(admin(['health']));
      login(given);
    } catch (err) {
      token.value = '';
      setError(
        err instanceof APIError && err.status === 401 ? 'This is not the admin token.' : err instanceof Error ? err.message : String(err),
      );
    } finally {
      setBusy(false);
    }
  };
  return (
    <Page
      title="Log in"
      lead="This gateway has an admin token (admin.token in its config). It is kept in this tab alone, until it is closed."
    >
      <form
        class="panel login"
        onSubmit={(e) => {
          e.preventDefault();
          void enter();
        }}
      >
        <Input label="Admin token" type="password" autoComplete="current-password" value={given} set={setGiven} error={error} required />
        <button type="submit" class="primary" disabled={busy || given === ''}>
          {busy ? 'Asking…' : 'Log in'}
        </button>
      </form>
    </Page>
  );
}
