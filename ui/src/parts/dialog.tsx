// A dialog that holds the focus, gives it back, and closes with Escape: the browser's own.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const d = ref.current;
    const before = document.activeElement;
    d?.showModal();
    d?.querySelector<HTMLElement>('form :is(input, select, textarea)')?.focus();
    return () => {
      d?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        close();
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="plain" aria-label="Close dialog" onClick={close}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}
