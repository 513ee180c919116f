// A request's trail, drawn: each attempt on a line from the request's start to its end, skipped candidates with their reasons, waits,
// hedges and seams.
import type { FullRequest } from '../api/types';
import { compact, count, dollars, ms } from '../words/format';
import { layout, outcome, whyWords, type Bar, type Kind } from '../words/trail';
import { Mark, Target, Time, type Tone } from './text';

const tones: Record<Kind, Tone> = { answered: 'good', failed: 'bad', outrun: 'quiet', skipped: 'warn' };

export function Trail({ request }: { request: FullRequest }) {
  const { total, bars, waits } = layout(request);
  if (bars.length === 0) return <p class="quiet">It came to no attempt.</p>;
  const quarter = [0, 0.25, 0.5, 0.75, 1];
  return (
    <div class="trail">
      <div class="ruler" aria-hidden="true">
        {quarter.map((q) => (
          <span key={q} class={q === 1 ? 'last' : ''} style={{ left: `${q * 100}%` }}>
            {ms(total * q)}
          </span>
        ))}
      </div>
      <ol>
        {bars.map((b, i) => (
          <li key={i} class={b.kind}>
            <Words b={b} />
            <div class="lane" aria-hidden="true">
              {waits.map((w) => (
                <i
                  key={w.from}
                  class="wait"
                  style={{ left: `${w.from * 100}%`, width: `${w.length * 100}%` }}
                  title={`waited ${ms(w.ms)}`}
                />
              ))}
              {b.kind === 'skipped' ? (
                <i class="passed" style={{ left: `${b.from * 100}%` }} />
              ) : (
                <i
                  class={`bar ${b.step.why === 'hedge' ? 'hedge' : ''}`}
                  style={{ left: `${b.from * 100}%`, width: `${b.length * 100}%` }}
                />
              )}
              {b.first !== undefined ? <i class="first" style={{ left: `${b.first * 100}%` }} title="first content" /> : null}
            </div>
          </li>
        ))}
      </ol>
      {waits.length > 0 ? <p class="quiet">Hatched: nobody was asked for {ms(waits.reduce((sum, w) => sum + w.ms, 0))}.</p> : null}
    </div>
  );
}

function Words({ b }: { b: Bar }) {
  const s = b.step;
  return (
    <div class="step">
      <p>
        <Target provider={s.provider} model={s.model} /> <Mark tone={tones[b.kind]}>{outcome(s)}</Mark>
        {s.why === 'hedge' ? <span class="tag">hedge</span> : null}
        {s.why === 'resume' || s.seam ? <span class="tag">resumed</span> : null}
        {s.drill ? <span class="tag drill">drill {s.drill}</span> : null}
      </p>
      <p class="quiet">
        {s.skipped ? (
          s.until ? (
            <>
              blocked until <Time at={s.until} />
            </>
          ) : (
            'not asked'
          )
        ) : (
          [
            s.why && whyWords(s.why),
            `at ${ms(s.offset_ms)}, for ${ms(s.duration_ms)}`,
            s.first_content_ms ? `first content after ${ms(s.first_content_ms)}` : '',
            s.credential && `credential ${s.credential}`,
            s.tokens && (s.tokens.input || s.tokens.output)
              ? `${compact(s.tokens.input)} tokens in, ${compact(s.tokens.output)} out${s.tokens.estimated ? ' (estimated)' : ''}`
              : '',
            s.cost_usd ? dollars(s.cost_usd) : '',
            s.seam ? `went on after ${count(s.seam)} bytes that the client had` : '',
          ]
            .filter(Boolean)
            .join(' · ')
        )}
      </p>
      {s.message ? <p class="words">{s.message}</p> : null}
    </div>
  );
}
