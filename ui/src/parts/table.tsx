// A table that can be read by a screen reader, scrolls sideways by itself on narrow windows, and by keyboard too.
import type { ComponentChildren } from 'preact';

export interface Column<T> {
  head: ComponentChildren;
  cell: (row: T) => ComponentChildren;
  num?: boolean;
  /** rowHead: the cell that names its row. */
  rowHead?: boolean;
  class?: string;
  /** maybe: the column is shown only if some row has something in it. */
  maybe?: (row: T) => boolean;
}

export function Table<T>({
  caption,
  columns: all,
  rows,
  id,
  showCaption = false,
  rowClass,
  foot,
}: {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T, i: number) => string;
  showCaption?: boolean;
  rowClass?: (row: T) => string;
  foot?: ComponentChildren;
}) {
  const columns = all.filter((c) => !c.maybe || rows.some(c.maybe));
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={caption}>
      <table>
        <caption class={showCaption ? '' : 'unseen'}>{caption}</caption>
        <thead>
          <tr>
            {columns.map((c, i) => (
              <th key={i} scope="col" class={c.num ? 'num' : (c.class ?? '')}>
                {c.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, n) => (
            <tr key={id(row, n)} class={rowClass?.(row)}>
              {columns.map((c, i) => {
                const cls = `${c.num ? 'num ' : ''}${c.class ?? ''}`;
                return c.rowHead ? (
                  <th key={i} scope="row" class={cls}>
                    {c.cell(row)}
                  </th>
                ) : (
                  <td key={i} class={cls}>
                    {c.cell(row)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
        {foot}
      </table>
    </div>
  );
}
