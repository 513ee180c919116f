// An operator's order on a circuit breaker, with its reason and, where it holds something, until when.
import { useState } from 'preact/hooks';
import { admin, APIError, send } from '../api/client';
import { announce } from '../parts/announce';
import { Dialog } from '../parts/dialog';
import { Choice, Input } from '../parts/field';
import { refreshHealth } from '../state';

export type Action = 'open' | 'close' | 'reset';

const effects: Record<Action, string> = {
  open: 'Nothing is sent to the provider for as long as the order holds.',
  close: 'The provider is used for as long as the order holds, whatever its failures.',
  reset: 'The breaker is closed with its counts at zero; after that it opens by itself again when it has to. An order in force ends.',
};

const lengths: [string, string][] = [
  ['', 'until the next order'],
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['8h', '8 hours'],
  ['24h', '24 hours'],
  ['other', 'another time'],
];

const titles: Record<Action, string> = { open: 'Open', close: 'Close', reset: 'Reset' };

export function Operate({ provider, models, action, close }: { provider: string; models: string[]; action: Action; close: () => void }) {
  const [reason, setReason] = useState('');
  const [length, setLength] = useState(action === 'open' ? '1h' : '');
  const [other, setOther] = useState('');
  const [model, setModel] = useState('');
  const [error, setError] = useState<APIError>();
  const [busy, setBusy] = useState(false);

  const order = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    const hold = length === 'other' ? other.trim() : length;
    try {
      await send('POST', admin(['providers', provider, 'breaker']), {
        action,
        reason: reason.trim(),
        ...(action !== 'reset' && hold ? { for: hold } : {}),
        ...(model ? { model } : {}),
      });
      announce(`Done: ${titles[action].toLowerCase()} the circuit breaker of ${provider}`);
      refreshHealth();
      close();
    } catch (err) {
      setError(err instanceof APIError ? err : new APIError(0, '', String(err)));
      setBusy(false);
    }
  };
  const of = (param: string): string | undefined => (error?.param === param ? error.message : undefined);
  const general = error && !['reason', 'for', 'model'].includes(error.param) ? error.message : '';
  return (
    <Dialog title={`${titles[action]} the circuit breaker of ${provider}`} close={close}>
      <p>{effects[action]}</p>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void order();
        }}
      >
        <Input
          label="Reason"
          value={reason}
          set={setReason}
          error={of('reason')}
          hint="For whoever wonders later; it stands in the audit log."
          required
          maxLength={500}
        />
        {models.length > 0 ? (
          <Choice
            label="Breaker"
            value={model}
            set={setModel}
            options={[['', 'of the whole provider'], ...models.map((m): [string, string] => [m, m])]}
          />
        ) : null}
        {action === 'reset' ? null : <Choice label="It holds" value={length} set={setLength} options={lengths} />}
        {action !== 'reset' && length === 'other' ? (
          <Input label="For how long" value={other} set={setOther} error={of('for')} hint="A duration such as 45m or 2h30m." required />
        ) : null}
        {general ? (
          <p class="error" role="alert">
            {general}
          </p>
        ) : null}
        <div class="buttons">
          <button type="submit" class="primary" disabled={busy || reason.trim() === ''}>
            {busy ? 'Sending…' : `${titles[action]} it`}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
