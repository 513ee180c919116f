// Form fields with their labels.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface Extra {
  type?: 'text' | 'search' | 'password' | 'number';
  placeholder?: string;
  required?: boolean;
  maxLength?: number;
  min?: number;
  max?: number;
  step?: string;
  list?: string;
  autoComplete?: string;
}

type Common = { label: string; hint?: ComponentChildren; error?: string | undefined };

const Around = ({ id, label, hint, error, children }: Common & { id: string; children: ComponentChildren }) => (
  <div class={`field ${error ? 'wrong' : ''}`}>
    <label for={id}>{label}</label>
    {children}
    {hint ? (
      <small id={`${id}-hint`} class="quiet">
        {hint}
      </small>
    ) : null}
    {error ? (
      <small id={`${id}-error`} class="error" role="alert">
        {error}
      </small>
    ) : null}
  </div>
);

const described = (id: string, { hint, error }: Common): Record<string, unknown> => ({
  'aria-describedby': [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ') || undefined,
  'aria-invalid': error ? true : undefined,
});

export function Input({ label, hint, error, value, set, ...rest }: Common & { value: string; set: (v: string) => void } & Extra) {
  const id = useId();
  return (
    <Around id={id} label={label} hint={hint} error={error}>
      <input
        autoComplete="off"
        spellcheck={false}
        {...(rest as object)}
        {...described(id, { label, hint, error })}
        id={id}
        value={value}
        onInput={(e) => set(e.currentTarget.value)}
      />
    </Around>
  );
}

export function Choice({
  label,
  hint,
  error,
  value,
  set,
  options,
  ...rest
}: Common & { value: string; set: (v: string) => void; options: (string | [string, string])[]; disabled?: boolean }) {
  const id = useId();
  return (
    <Around id={id} label={label} hint={hint} error={error}>
      <select {...rest} {...described(id, { label, hint, error })} id={id} value={value} onChange={(e) => set(e.currentTarget.value)}>
        {options.map((o) => {
          const [v, text] = typeof o === 'string' ? [o, o] : o;
          return (
            <option key={v} value={v} selected={v === value}>
              {text}
            </option>
          );
        })}
      </select>
    </Around>
  );
}

export function Area({
  label,
  hint,
  error,
  value,
  set,
  rows = 4,
  ...rest
}: Common & { value: string; set: (v: string) => void; rows?: number; class?: string; required?: boolean }) {
  const id = useId();
  return (
    <Around id={id} label={label} hint={hint} error={error}>
      <textarea
        spellcheck={false}
        {...rest}
        {...described(id, { label, hint, error })}
        id={id}
        rows={rows}
        value={value}
        onInput={(e) => set(e.currentTarget.value)}
      />
    </Around>
  );
}

export function Check({ label, on, set }: { label: string; on: boolean; set: (on: boolean) => void }) {
  const id = useId();
  return (
    <div class="check">
      <input type="checkbox" id={id} checked={on} onChange={(e) => set(e.currentTarget.checked)} />
      <label for={id}>{label}</label>
    </div>
  );
}
