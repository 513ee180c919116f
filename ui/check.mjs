// Compares internal/dashboard/dist with what the sources give. Compressed files are compared by what is in them: zlib's versions
// pack the same bytes differently.
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { bundle } from './bundle.mjs';

const LIMIT = 300 << 10; // bytes of the whole page, compressed

const dist = new URL('../internal/dashboard/dist/', import.meta.url).pathname;
const fresh = await mkdtemp(join(tmpdir(), 'evergate-ui-'));
const problems = [];
try {
  const sizes = await bundle(fresh);
  const names = (await readdir(fresh)).sort();
  const committed = (await readdir(dist)).filter((n) => !n.startsWith('.')).sort();
  if (names.join() !== committed.join()) problems.push(`dist has ${committed.join(', ')}; the sources give ${names.join(', ')}`);
  for (const name of names.filter((n) => committed.includes(n))) {
    const [want, got] = await Promise.all([readFile(join(fresh, name)), readFile(join(dist, name))]);
    const same = name.endsWith('.gz') ? gunzipSync(want).equals(gunzipSync(got)) : want.equals(got);
    if (!same) problems.push(`dist/${name} is not what the sources give`);
  }
  const total = Object.values(sizes).reduce((a, b) => a + b, 0);
  if (total > LIMIT) problems.push(`the page is ${total} bytes compressed; the limit is ${LIMIT}`);
} finally {
  await rm(fresh, { recursive: true });
}
// Text is text: nothing may make markup of it, and no link may be made of a whole address that came from elsewhere.
for (const name of await readdir(new URL('src/', import.meta.url), { recursive: true })) {
  if (!/\.tsx?$/.test(name)) continue;
  const text = await readFile(new URL(`src/${name}`, import.meta.url), 'utf8');
  const found = text.match(/dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|style="|window\.open/);
  if (found) problems.push(`src/${name} has ${found[0]}`);
}
for (const p of problems) console.error(p);
if (problems.length > 0) {
  console.error('run ui/build and commit internal/dashboard/dist');
  process.exit(1);
}
console.log('dist is up to date');
