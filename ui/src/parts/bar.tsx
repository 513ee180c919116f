// How much of a limit is used: a bar, and the same in words.
import type { ComponentChildren } from 'preact';
import { share } from '../words/keys';

export function Bar({
  used,
  held = 0,
  limit,
  near = 0.8,
  children,
}: {
  used: number;
  held?: number;
  limit: number;
  near?: number;
  children: ComponentChildren;
}) {
  const part = share(used, limit);
  const tone = part >= 1 ? 'full' : near > 0 && part >= near ? 'near' : '';
  return (
    <div class={`gauge ${tone}`}>
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="room" width="100" height="4" />
        <rect class="held" width={share(used + held, limit) * 100} height="4" />
        <rect class="used" width={part * 100} height="4" />
      </svg>
      <span class="num">{children}</span>
    </div>
  );
}
