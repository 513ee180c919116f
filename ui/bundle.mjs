// Bundles the dashboard into a directory: index.html, app.js, app.css, and each of them compressed. The same sources give the
// same bytes, whatever the machine: names are fixed, nothing of the path or the time gets in.
import { build } from 'esbuild';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));

/** @param {string} out  where to @param {boolean} [minify] */
export async function bundle(out, minify = true) {
  await mkdir(out, { recursive: true });
  await build({
    absWorkingDir: here,
    entryPoints: { app: 'src/main.tsx' },
    bundle: true,
    minify,
    format: 'esm',
    target: ['es2022', 'chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.yaml': 'text' },
    charset: 'ascii',
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    outdir: out,
    logLevel: 'warning',
  });
  await writeFile(join(out, 'index.html'), await readFile(join(here, 'src/index.html')));
  const sizes = {};
  for (const name of ['index.html', 'app.js', 'app.css']) {
    const packed = gzipSync(await readFile(join(out, name)), { level: 9 });
    packed[9] = 255; // the operating system's mark
    await writeFile(join(out, name + '.gz'), packed);
    sizes[name] = packed.length;
  }
  return sizes;
}
