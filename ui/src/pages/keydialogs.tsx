// What is done to a caller's key: it is shown once when it was made, replaced, revoked.
import { useRef, useState } from 'preact/hooks';
import { admin, APIError, send } from '../api/client';
import type { Key, NewKey } from '../api/types';
import { announce } from '../parts/announce';
import { Dialog } from '../parts/dialog';
import { Choice, Input } from '../parts/field';
import { Time } from '../parts/text';

/** Made shows a key that was just made. It lives in this dialog alone, and is gone with it. */
export function Made({ of, close }: { of: NewKey; close: () => void }) {
  const text = useRef<HTMLElement>(null);
  const [said, say] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(of.key);
      say('Copied.');
    } catch {
      // A page without TLS may not write to the clipboard, except on this machine.
      const s = getSelection();
      if (text.current) s?.selectAllChildren(text.current);
      say('The browser does not allow it here: the key is selected, copy it by keyboard.');
    }
  };
  return (
    <Dialog title={`The key ${of.name}`} close={close}>
      <p>This is the key. It is shown this once: the gateway keeps no more of it than it takes to know it again.</p>
      <p class="secret">
        <code ref={text} data-testid="secret">
          {of.key}
        </code>
      </p>
      {of.old_key_until ? (
        <p>
          The key before it is good until <Time at={of.old_key_until} />.
        </p>
      ) : null}
      <div class="buttons">
        <button type="button" class="primary" onClick={() => void copy()}>
          Copy
        </button>
        <button type="button" onClick={close}>
          Done
        </button>
        <span role="status">{said}</span>
      </div>
    </Dialog>
  );
}

const overlaps: [string, string][] = [
  ['0s', 'not at all'],
  ['10m', '10 minutes'],
  ['1h', '1 hour'],
  ['24h', '1 day'],
  ['168h', '7 days'],
];

/** Change asks for a reason and does one thing to a key. */
function Change({
  title,
  words,
  verb,
  needsReason,
  overlap,
  act,
  close,
}: {
  title: string;
  words: string;
  verb: string;
  needsReason: boolean;
  overlap?: { value: string; set: (v: string) => void };
  act: (reason: string) => Promise<void>;
  close: () => void;
}) {
  const [reason, setReason] = useState('');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const go = async (): Promise<void> => {
    setBusy(true);
    setError('');
    try {
      await act(reason.trim());
    } catch (err) {
      setError(err instanceof APIError ? err.message : String(err));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} close={close}>
      <p>{words}</p>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void go();
        }}
      >
        {overlap ? <Choice label="The old key goes on for" value={overlap.value} set={overlap.set} options={overlaps} /> : null}
        <Input label="Reason" value={reason} set={setReason} required={needsReason} maxLength={500} hint="It stands in the audit log." />
        {error ? (
          <p class="error" role="alert">
            {error}
          </p>
        ) : null}
        <div class="buttons">
          <button type="submit" class="primary" disabled={busy || (needsReason && reason.trim() === '')}>
            {busy ? 'Sending…' : verb}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function Rotate({ of, close, made }: { of: Key; close: () => void; made: (k: NewKey) => void }) {
  const [overlap, set] = useState('1h');
  return (
    <Change
      title={`Replace the key ${of.name}`}
      words="A new key takes its place, with the same name and terms. The old one goes on for a while, so that callers can change over."
      verb="Replace it"
      needsReason={false}
      overlap={{ value: overlap, set }}
      close={close}
      act={async (reason) => made(await send<NewKey>('POST', admin(['keys', of.id, 'rotate']), { overlap, ...(reason ? { reason } : {}) }))}
    />
  );
}

export function Revoke({ of, close, done }: { of: Key; close: () => void; done: () => void }) {
  return (
    <Change
      title={`Revoke the key ${of.name}`}
      words="Nobody gets in with it any more, on any instance, within a second. That cannot be undone. Its name stays in reports."
      verb="Revoke it"
      needsReason={true}
      close={close}
      act={async (reason) => {
        await send('DELETE', admin(['keys', of.id]), { reason });
        announce(`The key ${of.name} was revoked`);
        done();
        close();
      }}
    />
  );
}
