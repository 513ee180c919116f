// Every text that Preact renders passes here, so that no page can forget it: characters that would not be seen, or would turn the
// text around them, show as escapes. Preact itself sees to it that text is never markup.
import { options } from 'preact';
import { visible } from '../words/visible';

const named = ['title', 'aria-label', 'placeholder', 'alt'];

const clean = (child: unknown): unknown => (typeof child === 'string' ? visible(child) : Array.isArray(child) ? child.map(clean) : child);

/** install makes it so, for every element made from now on. */
export function install(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    const props = vnode.props as Record<string, unknown>;
    if (props.children !== undefined) props.children = clean(props.children);
    if (typeof vnode.type === 'string') for (const name of named) if (typeof props[name] === 'string') props[name] = visible(props[name]);
    before?.(vnode);
  };
}
