// The form of a caller's key: who it is for, what it may, how much. For a new one, and for one that is there.
import { useState } from 'preact/hooks';
import { admin, APIError, send } from '../api/client';
import type { Key, NewKey } from '../api/types';
import { announce } from '../parts/announce';
import { Dialog } from '../parts/dialog';
import { Choice, Input } from '../parts/field';
import { badLabels as bad, formOf, noBudget, noKey, patchOf, termsOf, type BudgetForm, type KeyForm } from '../words/keys';

export function KeyDialog({
  of,
  teams,
  close,
  made,
  changed,
}: {
  of?: Key | undefined;
  teams: string[];
  close: () => void;
  made?: (k: NewKey) => void;
  changed: () => void;
}) {
  const [f, setF] = useState<KeyForm>(of ? formOf(of) : noKey);
  const [reason, setReason] = useState('');
  const [error, setError] = useState<APIError>();
  const [busy, setBusy] = useState(false);
  const set = (name: keyof KeyForm) => (value: string) => setF((was) => ({ ...was, [name]: value }));
  const budget = (i: number, change: Partial<BudgetForm>): void =>
    setF((was) => ({ ...was, budgets: was.budgets.map((b, n) => (n === i ? { ...b, ...change } : b)) }));
  const badLabels = bad(f, of) ? 'Write name=value, with commas between.' : undefined;

  const save = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      if (of) {
        await send('PATCH', admin(['keys', of.id]), { ...patchOf(of, f), ...(reason.trim() ? { reason: reason.trim() } : {}) });
        announce(`The key ${of.name} was changed`);
        changed();
        close();
      } else {
        const k = await send<NewKey>('POST', admin(['keys']), termsOf(f));
        changed();
        made?.(k);
      }
    } catch (err) {
      setError(err instanceof APIError ? err : new APIError(0, '', String(err)));
      setBusy(false);
    }
  };

  const shown = ['name', 'owner', 'team', 'labels', 'models', 'providers', 'policies', 'routes', 'sources', 'guardrails', 'expires_at'];
  const at = (param: string): string | undefined => (error && error.param.split(/[.[]/)[0] === param ? error.message : undefined);
  const field = (name: 'models' | 'providers' | 'policies' | 'routes' | 'sources' | 'guardrails', label: string, hint: string) => (
    <Input label={label} value={f[name]} set={set(name)} hint={hint} error={at(name)} />
  );
  return (
    <Dialog title={of ? `Change the key ${of.name}` : 'Make a key'} close={close}>
      <form
        class="grid"
        onSubmit={(e) => {
          e.preventDefault();
          if (!badLabels) void save();
        }}
      >
        {of ? null : (
          <Input
            label="Name"
            value={f.name}
            set={set('name')}
            required
            maxLength={128}
            hint="it stays: reports know the key by it"
            error={at('name')}
          />
        )}
        <Input label="Owner" value={f.owner} set={set('owner')} error={at('owner')} />
        <Input
          label="Team"
          value={f.team}
          set={set('team')}
          hint={teams.length > 0 ? `teams of the config: ${teams.join(', ')}` : undefined}
          error={at('team')}
        />
        <Input label="Labels" value={f.labels} set={set('labels')} hint="app=build, cost=4711" error={badLabels ?? at('labels')} />
        {field('models', 'Models', 'names, with commas between; nothing: all')}
        {field('providers', 'Providers', 'nothing: all')}
        {field('routes', 'Routes', 'such as chat, messages, embeddings, models; nothing: all')}
        {field('sources', 'Addresses', 'networks such as 10.0.0.0/8; nothing: anywhere')}
        {field('policies', 'Policies', 'of the config')}
        {field('guardrails', 'Guardrails', 'of the config')}
        <Input
          label="Ends"
          value={f.expires}
          set={set('expires')}
          hint="a day such as 2027-01-31, or a moment; nothing: never"
          error={at('expires_at')}
        />
        <Input
          label="Requests a minute"
          type="number"
          min={0}
          value={f.requests}
          set={set('requests')}
          hint="nothing: no limit"
          error={at('limits')}
        />
        <Input label="Tokens a minute" type="number" min={0} value={f.tokens} set={set('tokens')} />
        <Input label="In flight at once" type="number" min={0} value={f.concurrent} set={set('concurrent')} />
        {f.budgets.map((b, i) => (
          <fieldset key={i} class="wide budget">
            <legend>Budget {i + 1}</legend>
            <Input label="US dollars" type="number" min={0} step="any" value={b.usd} set={(usd) => budget(i, { usd })} />
            <Input label="Tokens" type="number" min={0} value={b.tokens} set={(tokens) => budget(i, { tokens })} />
            <Choice label="Per" value={b.per} set={(per) => budget(i, { per })} options={['hour', 'day', 'week', 'month']} />
            <Input label="Time zone" value={b.zone} set={(zone) => budget(i, { zone })} />
            <Choice
              label="When it is spent"
              value={b.mode}
              set={(mode) => budget(i, { mode })}
              options={[
                ['block', 'refuse requests'],
                ['warn', 'tell only'],
              ]}
            />
            <button type="button" onClick={() => setF((was) => ({ ...was, budgets: was.budgets.filter((_, n) => n !== i) }))}>
              Remove<span class="unseen"> budget {i + 1}</span>
            </button>
          </fieldset>
        ))}
        <p class="wide">
          <button type="button" onClick={() => setF((was) => ({ ...was, budgets: [...was.budgets, noBudget] }))}>
            Add a budget
          </button>
        </p>
        {of ? <Input label="Reason" value={reason} set={setReason} maxLength={500} hint="For the audit log." error={at('reason')} /> : null}
        {error && !(shown.includes(error.param.split(/[.[]/)[0] ?? '') || error.param.startsWith('limits') || error.param === 'reason') ? (
          <p class="error wide" role="alert">
            {error.message}
          </p>
        ) : null}
        <div class="buttons wide">
          <button type="submit" class="primary" disabled={busy || (!of && f.name.trim() === '')}>
            {busy ? 'Sending…' : of ? 'Save' : 'Make it'}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
