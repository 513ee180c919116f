// The form that starts a drill.
import { useState } from 'preact/hooks';
import { admin, APIError, send } from '../api/client';
import type { Fault } from '../api/types';
import { Dialog } from '../parts/dialog';
import { Choice, Input } from '../parts/field';
import { health } from '../state';
import { kinds, shape } from '../words/shape';

export function NewDrill({ close, done }: { close: () => void; done: () => void }) {
  const [f, setF] = useState({
    kind: 'status',
    status: '503',
    retryAfter: '',
    latency: '',
    answer: 'html',
    events: '3',
    provider: '',
    model: '',
    key: '',
    share: '10',
    length: '5m',
    budget: '1000',
    errors: '',
    reason: '',
  });
  const [error, setError] = useState<APIError>();
  const [busy, setBusy] = useState(false);
  const set = (name: keyof typeof f) => (value: string) => setF((was) => ({ ...was, [name]: value }));
  const needs = kinds.find((k) => k.word === f.kind)?.needs;
  const at = (...params: string[]): string | undefined =>
    error && params.some((p) => error.param === p || error.param === 'shape.' + p) ? error.message : undefined;
  const known = [
    'status',
    'retry_after',
    'latency',
    'invalid',
    'shape',
    'provider',
    'model',
    'key',
    'share',
    'for',
    'until',
    'budget',
    'max_user_errors',
    'reason',
  ];

  const start = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await send<Fault>('POST', admin(['faults']), {
        shape: shape(f.kind, f),
        share: Number(f.share) / 100,
        for: f.length.trim(),
        budget: Number(f.budget),
        reason: f.reason.trim(),
        ...(f.provider ? { provider: f.provider } : {}),
        ...(f.model.trim() ? { model: f.model.trim() } : {}),
        ...(f.key.trim() ? { key: f.key.trim() } : {}),
        ...(f.errors.trim() ? { max_user_errors: Number(f.errors) } : {}),
      });
      done();
      close();
    } catch (err) {
      setError(err instanceof APIError ? err : new APIError(0, '', String(err)));
      setBusy(false);
    }
  };

  return (
    <Dialog title="Start a drill" close={close}>
      <form
        class="grid"
        onSubmit={(e) => {
          e.preventDefault();
          void start();
        }}
      >
        <Choice
          label="Fault"
          value={f.kind}
          set={set('kind')}
          options={kinds.map((k): [string, string] => [k.word, k.name])}
          error={at('shape')}
        />
        {needs === 'status' ? (
          <Input label="Status" type="number" min={400} max={599} required value={f.status} set={set('status')} error={at('status')} />
        ) : null}
        {needs === 'status' ? (
          <Input
            label="Retry after"
            value={f.retryAfter}
            set={set('retryAfter')}
            hint="a duration such as 30s, or nothing"
            error={at('retry_after')}
          />
        ) : null}
        {needs === 'answer' ? (
          <Choice
            label="Answer"
            value={f.answer}
            set={set('answer')}
            options={[
              ['html', 'a web page'],
              ['json', 'broken JSON'],
              ['empty', 'nothing'],
            ]}
          />
        ) : null}
        {needs === 'events' ? (
          <Input
            label="After how many content events"
            type="number"
            min={0}
            required
            value={f.events}
            set={set('events')}
            error={at(f.kind)}
          />
        ) : null}
        <Input
          label="Latency before it"
          value={f.latency}
          set={set('latency')}
          required={needs === 'latency'}
          hint="a duration such as 2s"
          error={at('latency')}
        />
        <Choice
          label="Provider"
          value={f.provider}
          set={set('provider')}
          options={[['', 'any'], ...Object.keys(health.value?.providers ?? {}).map((p): [string, string] => [p, p])]}
          error={at('provider')}
        />
        <Input label="Model" value={f.model} set={set('model')} hint="the provider's, or a virtual one; nothing: any" error={at('model')} />
        <Input label="Key" value={f.key} set={set('key')} hint="a caller's, by name; nothing: any" error={at('key')} />
        <Input
          label="Share of attempts, in %"
          type="number"
          min={0.01}
          max={100}
          step="any"
          required
          value={f.share}
          set={set('share')}
          error={at('share')}
        />
        <Input
          label="For how long"
          required
          value={f.length}
          set={set('length')}
          hint="a duration such as 5m, at most 24h"
          error={at('for', 'until')}
        />
        <Input label="At most so many attempts" type="number" min={1} required value={f.budget} set={set('budget')} error={at('budget')} />
        <Input
          label="End after so many failed requests"
          type="number"
          min={1}
          value={f.errors}
          set={set('errors')}
          hint="nothing: they do not end it"
          error={at('max_user_errors')}
        />
        <Input label="Reason" required maxLength={500} value={f.reason} set={set('reason')} error={at('reason')} />
        {error && !known.includes(error.param) && !error.param.startsWith('shape.') ? (
          <p class="error" role="alert">
            {error.message}
          </p>
        ) : null}
        <p class="quiet wide">
          Chosen requests really fail at their first attempts: guards count them like any others. What failover does not catch, users feel.
        </p>
        <div class="buttons wide">
          <button type="submit" class="primary" disabled={busy || f.reason.trim() === ''}>
            {busy ? 'Starting…' : 'Start it'}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
