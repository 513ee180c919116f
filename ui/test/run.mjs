// Bundles the unit tests and runs them with Node's own runner.
import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const here = new URL('.', import.meta.url).pathname;
const out = mkdtempSync(join(tmpdir(), 'evergate-ui-test-'));
const tests = readdirSync(here).filter((n) => n.endsWith('.test.ts'));
await build({
  entryPoints: tests.map((n) => join(here, n)),
  bundle: true,
  platform: 'node',
  format: 'esm',
  outExtension: { '.js': '.mjs' },
  jsx: 'automatic',
  jsxImportSource: 'preact',
  loader: { '.yaml': 'text' },
  outdir: out,
  logLevel: 'warning',
});
const { status } = spawnSync(process.execPath, ['--test', ...tests.map((n) => join(out, n.replace(/\.ts$/, '.mjs')))], {
  stdio: 'inherit',
});
rmSync(out, { recursive: true });
process.exit(status ?? 1);
