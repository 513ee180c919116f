// Reads as much of Prometheus' text format as the dashboard needs: one family's samples.

export interface Sample {
  labels: Record<string, string>;
  value: number;
}

/** samples gives those of one counter or gauge. Lines that are not of it, or not well formed, are left out. */
export function samples(text: string, family: string): Sample[] {
  const out: Sample[] = [];
  for (let at = 0; at < text.length;) {
    let end = text.indexOf('\n', at);
    if (end < 0) end = text.length;
    if (text.startsWith(family, at) && (text[at + family.length] === '{' || text[at + family.length] === ' ')) {
      const s = sample(text.slice(at + family.length, end));
      if (s) out.push(s);
    }
    at = end + 1;
  }
  return out;
}

function sample(line: string): Sample | undefined {
  const labels: Record<string, string> = {};
  let rest = line;
  if (rest.startsWith('{')) {
    const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|(?=\}))/y;
    label.lastIndex = 1;
    let at = 1;
    for (let m = label.exec(rest); m; m = label.exec(rest)) {
      labels[m[1] ?? ''] = (m[2] ?? '').replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
      at = label.lastIndex;
    }
    if (rest[at] !== '}') return undefined;
    rest = rest.slice(at + 1);
  }
  const value = Number(rest.trim().split(' ')[0]);
  return Number.isNaN(value) ? undefined : { labels, value };
}
