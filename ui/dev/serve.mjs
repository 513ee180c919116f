// For work on the dashboard: builds it anew for every reload and hands everything else to a running gateway.
//
//   evergate demo --listen 127.0.0.1:8080      in one terminal
//   npm run dev -- http://127.0.0.1:8080       in another, then open http://127.0.0.1:8090/ui/
//
// The gateway must serve this machine without a token, or be given it on the page. The headers are those of internal/dashboard, so
// that what its policy forbids does not work here either.
import { createServer, request } from 'node:http';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../bundle.mjs';

const gateway = new URL(process.argv[2] ?? 'http://127.0.0.1:8080');
const port = Number(process.argv[3] ?? 8090);
const out = await mkdtemp(join(tmpdir(), 'evergate-ui-dev-'));
const kinds = {
  'index.html': 'text/html; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
};
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

createServer(async (req, res) => {
  const name = new URL(req.url, 'http://x').pathname.replace(/^\/ui\//, '') || 'index.html';
  if (req.url.startsWith('/ui/') && kinds[name]) {
    try {
      if (name === 'index.html') await bundle(out, false);
      res.writeHead(200, { 'Content-Type': kinds[name], 'Content-Security-Policy': policy, 'Cache-Control': 'no-store' });
      res.end(await readFile(join(out, name)));
    } catch (err) {
      res.writeHead(500, { 'Content-Type': 'text/plain' });
      res.end(String(err));
    }
    return;
  }
  const headers = { ...req.headers, host: gateway.host };
  if (headers.origin) headers.origin = gateway.origin;
  const on = request({ host: gateway.hostname, port: gateway.port, path: req.url, method: req.method, headers }, (back) => {
    res.writeHead(back.statusCode ?? 502, back.headers);
    back.pipe(res);
  });
  on.on('error', () => res.destroy());
  res.on('close', () => on.destroy());
  req.pipe(on);
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/ui/ in front of ${gateway.origin}`));
