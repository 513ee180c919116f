// The pieces that every page is put together from: a page with its heading, panels, and what stands where there is nothing to show.
import type { ComponentChildren } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import type { Resource } from '../api/resource';
import { APIError } from '../api/client';
import { visible } from '../words/visible';
import { Ago } from './text';

/** Page sets the window's title, too. */
export function Page({
  title,
  lead,
  children,
  tools,
}: {
  title: string;
  lead?: ComponentChildren;
  children: ComponentChildren;
  tools?: ComponentChildren;
}) {
  useEffect(() => {
    document.title = visible(`${title} · Evergate`);
  }, [title]);
  return (
    <>
      <header class="page">
        <h1 tabIndex={-1} id="title">
          {title}
        </h1>
        {tools ? <div class="tools">{tools}</div> : null}
        {lead ? <p class="lead">{lead}</p> : null}
      </header>
      {children}
    </>
  );
}

export function Panel({
  title,
  children,
  tools,
  note,
  level = 2,
  item = false,
}: {
  title: ComponentChildren;
  children: ComponentChildren;
  tools?: ComponentChildren;
  note?: ComponentChildren;
  level?: 2 | 3;
  /** item: it is one of many of its kind, and no landmark. */
  item?: boolean;
}) {
  const id = useId();
  const H = `h${level}` as const;
  const Box = item ? 'article' : 'section';
  return (
    <Box class="panel" aria-labelledby={id}>
      <header>
        <H id={id}>{title}</H>
        {tools ? <div class="tools">{tools}</div> : null}
      </header>
      {note ? <p class="note">{note}</p> : null}
      {children}
    </Box>
  );
}

/** Empty says that there is nothing, and what to do about it. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <p>
      <strong>{title}</strong>
    </p>
    {children ? <p>{children}</p> : null}
  </div>
);

/** Failure says what went wrong, and what to do about it. */
export function Failure({ error, again, what = 'This' }: { error: APIError; again?: (() => void) | undefined; what?: string }) {
  return (
    <div class="failure" role="alert">
      <p>
        <strong>{what} could not be loaded.</strong> {error.message}
      </p>
      <p class="quiet">{advice(error)}</p>
      {again ? (
        <button type="button" onClick={again}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

function advice(e: APIError): string {
  switch (e.status) {
    case 0:
      return 'The page tries again by itself. If it stays so, look whether the process runs and its listener is up.';
    case 401:
      return 'The admin token was refused.';
    case 403:
      return 'Open the page on the machine that the gateway runs on, or set admin.token in the config and give it here.';
    case 404:
      return 'This gateway does not serve it: it may be of an older version, or the thing is gone.';
    case 429:
    case 503:
      return 'The gateway has no room for it at the moment. The page tries again by itself.';
    default:
      return e.code ? `Code ${e.code}, status ${e.status}.` : `Status ${e.status}.`;
  }
}

/** Loaded shows what a resource gave; an old answer stays, with a word on why there is no newer one. */
export function Loaded<T>({ of, what, children }: { of: Resource<T>; what: string; children: (data: T) => ComponentChildren }) {
  if (of.data === undefined) {
    if (of.error) return <Failure error={of.error} again={of.reload} what={what} />;
    return (
      <p class="loading" role="status">
        Loading…
      </p>
    );
  }
  return (
    <>
      {of.error ? (
        <p class="stale" role="status">
          ▲ Not up to date: what you see is from <Ago at={of.at} />. {of.error.message}{' '}
          <button type="button" class="link" onClick={of.reload}>
            Try again
          </button>
        </p>
      ) : null}
      {children(of.data)}
    </>
  );
}

/** Figure is one number that matters, with what it is. */
export const Figure = ({
  label,
  value,
  note,
  tone,
}: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  tone?: string | undefined;
}) => (
  <div class={`figure ${tone ?? ''}`}>
    <dt>{label}</dt>
    <dd>
      <span class="value">{value}</span>
      {note ? <span class="quiet"> {note}</span> : null}
    </dd>
  </div>
);

export const Facts = ({ rows, columns = false }: { rows: ([string, ComponentChildren] | undefined | false)[]; columns?: boolean }) => (
  <dl class={columns ? 'facts columns' : 'facts'}>
    {rows.map((r) =>
      r ? (
        <div key={r[0]}>
          <dt>{r[0]}</dt>
          <dd>{r[1]}</dd>
        </div>
      ) : null,
    )}
  </dl>
);
