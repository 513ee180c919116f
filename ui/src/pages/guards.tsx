// What discovery says of a provider and what its guards hold, side by side, as they are distinct things.
import { useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import type { Breaker, Credential, Health, Lockout, Provider } from '../api/types';
import { Facts } from '../parts/panel';
import { Ago, breakerTone, Countdown, discoveryTone, Mark, Name, Time } from '../parts/text';
import { count, ms, plural, spaced } from '../words/format';
import { own } from '../words/own';
import { Operate, type Action } from './operate';

/** Guards shows discovery, the three kinds of guards and the load of a provider beside each other. */
export function Guards({ name, p, h, level }: { name: string; p: Provider; h: Health; level: 3 }) {
  const H = `h${level}` as const;
  return (
    <div class="guards">
      <section aria-label={`Discovery of ${name}`}>
        <H>Discovery</H>
        <p>
          <Mark tone={discoveryTone(p.status)}>{p.status || 'not looked yet'}</Mark>
        </p>
        <p class="quiet">
          looked {p.last_checked ? <Ago at={p.last_checked} /> : 'never'}
          {p.stale ? '; the models are those of an earlier look' : ''}
        </p>
        {p.message ? <p class="words">{p.message}</p> : null}
      </section>
      <section aria-label={`Circuit breaker of ${name}`}>
        <H>Circuit breaker</H>
        <BreakerState b={p.breaker} />
        <Models breakers={p.breakers} />
        <Believers name={name} h={h} />
        <Actions name={name} p={p} />
      </section>
      <section aria-label={`Credentials of ${name}`}>
        <H>Credentials</H>
        <Credentials of={p.credentials ?? {}} />
      </section>
      <section aria-label={`Model lockouts of ${name}`}>
        <H>Model lockouts</H>
        <Lockouts of={p.lockouts} />
      </section>
      <section aria-label={`Load of ${name}`}>
        <H>Load</H>
        <Facts
          rows={[
            ['In flight', count(p.in_flight)],
            ['First token', ms(p.latency_ms.first_content || undefined)],
            ['Answer', ms(p.latency_ms.total || undefined)],
            ['Failures', count(p.breaker.failures_total)],
          ]}
        />
      </section>
    </div>
  );
}

function BreakerState({ b, of }: { b: Breaker; of?: string }) {
  return (
    <>
      <p>
        <Mark tone={breakerTone(b.state)}>{spaced(b.state)}</Mark>
        {b.trip && b.state !== 'closed' ? <span class="quiet"> by {b.trip === 'operator' ? 'an operator' : b.trip}</span> : null}
        {of ? <span class="quiet name"> {of}</span> : null}
      </p>
      {b.state === 'open' ? (
        <p class="quiet">
          since <Time at={b.opened_at} />
          {b.retry_at ? (
            <>
              , tries again in <Countdown to={b.retry_at} over="a moment" />
            </>
          ) : null}
        </p>
      ) : null}
      {b.state === 'half_open' ? <p class="quiet">one request at a time tries whether it is well again</p> : null}
      {b.state === 'closed' && b.ramp_until ? (
        <p class="quiet">
          has all of its traffic again in <Countdown to={b.ramp_until} />
        </p>
      ) : null}
      {b.operator ? (
        <p class="words">
          Operator: {b.operator.action}, {b.operator.reason}
          {b.operator.until ? (
            <>
              {' '}
              (for <Countdown to={b.operator.until} over="no longer" />)
            </>
          ) : (
            ' (until the next order)'
          )}
        </p>
      ) : null}
      {b.consecutive_failures > 0 || b.offences > 0 ? (
        <p class="quiet">
          {plural(b.consecutive_failures, 'failure')} in a row{b.offences > 0 ? `, opened ${b.offences} times of late` : ''}
        </p>
      ) : null}
    </>
  );
}

function Models({ breakers }: { breakers: Record<string, Breaker> | undefined }) {
  const all = Object.entries(breakers ?? {});
  const not = all.filter(([, b]) => b.state !== 'closed' || b.operator);
  if (all.length === 0) return null;
  return (
    <>
      <p class="quiet">
        Each model has its own: {plural(all.length, 'breaker')}, {not.length} not closed
      </p>
      {not.map(([m, b]) => (
        <div key={m} class="inner">
          <BreakerState b={b} of={m} />
        </div>
      ))}
    </>
  );
}

function Believers({ name, h }: { name: string; h: Health }) {
  const who = (h.instances ?? []).filter((i) => (own(i.believes, name) ?? []).length > 0);
  if ((h.instances ?? []).length < 2 || who.length === 0) return null;
  return (
    <p class="quiet">
      seen by {who.length} of {h.instances.length} instances: {who.map((i) => i.id).join(', ')}
    </p>
  );
}

const actions: [Action, string][] = [
  ['close', 'Close'],
  ['open', 'Open'],
  ['reset', 'Reset'],
];

function Actions({ name, p }: { name: string; p: Provider }) {
  const [action, setAction] = useState<Action>();
  return (
    <div class="buttons tight">
      {actions.map(([a, word]) => (
        <button key={a} type="button" onClick={() => setAction(a)} aria-haspopup="dialog">
          {word}
          <span class="unseen"> the circuit breaker of {name}</span>
        </button>
      ))}
      {action ? (
        <Operate provider={name} models={Object.keys(p.breakers ?? {})} action={action} close={() => setAction(undefined)} />
      ) : null}
    </div>
  );
}

function Credentials({ of }: { of: Record<string, Credential> }) {
  const all = Object.entries(of);
  if (all.length === 0) return <p class="quiet">It has none.</p>;
  return (
    <ul class="plain">
      {all.map(([name, c]) => (
        <li key={name}>
          <Name of={name} /> <Mark tone={c.state === 'ok' ? 'good' : 'warn'}>{spaced(c.state)}</Mark>
          {c.state === 'ok' ? null : <Until until={c.cooldown_until} reason={c.reason} level={c.level} />}
          {c.token ? (
            <p class="quiet">
              token refresh {spaced(c.token.state)}
              {c.token.failures > 0 ? `, ${plural(c.token.failures, 'failure')} in a row` : ''}
              {c.token.retry_at ? (
                <>
                  , again in <Countdown to={c.token.retry_at} />
                </>
              ) : null}
            </p>
          ) : null}
        </li>
      ))}
    </ul>
  );
}

function Lockouts({ of }: { of: Lockout[] }) {
  if (of.length === 0) return <p class="quiet">None.</p>;
  return (
    <ul class="plain">
      {of.map((l) => (
        <li key={l.model + '|' + l.credential}>
          <Name of={l.model} /> <Mark tone="warn">locked out</Mark>
          {l.credential ? <span class="quiet"> on credential {l.credential}</span> : null}
          <Until until={l.until} reason={l.reason} level={l.level} />
        </li>
      ))}
    </ul>
  );
}

const Until = ({ until, reason, level }: { until: string | null | undefined; reason: string; level: number }): ComponentChildren => (
  <p class="quiet">
    {until ? (
      <>
        for <Countdown to={until} over="no longer" />:{' '}
      </>
    ) : null}
    {spaced(reason)}
    {level > 0 ? `, level ${level}` : ''}
  </p>
);
