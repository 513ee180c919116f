// A caller's key as its form has it, and as the admin API takes it.
import type { Key, KeyTerms } from '../api/types';

export interface BudgetForm {
  usd: string;
  tokens: string;
  per: string;
  zone: string;
  mode: string;
  /** warn has no field of its own: it stays as it is. */
  warn: number;
}

export interface KeyForm {
  name: string;
  owner: string;
  team: string;
  labels: string;
  models: string;
  providers: string;
  policies: string;
  routes: string;
  sources: string;
  guardrails: string;
  requests: string;
  tokens: string;
  concurrent: string;
  expires: string;
  budgets: BudgetForm[];
}

export const noBudget: BudgetForm = { usd: '', tokens: '', per: 'month', zone: 'UTC', mode: 'block', warn: 0.8 };

export const noKey: KeyForm = {
  name: '',
  owner: '',
  team: '',
  labels: '',
  models: '',
  providers: '',
  policies: '',
  routes: '',
  sources: '',
  guardrails: '',
  requests: '',
  tokens: '',
  concurrent: '',
  expires: '',
  budgets: [],
};

const lists = ['models', 'providers', 'policies', 'routes', 'sources', 'guardrails'] as const;

/** words takes a list apart: by commas, or line by line. */
export const words = (text: string): string[] =>
  text
    .split(/[,\n]/)
    .map((w) => w.trim())
    .filter(Boolean);

const some = (n: number | undefined): string => (n ? String(n) : '');

/** formOf is a key's terms in the form. */
export function formOf(k: Key): KeyForm {
  const f: KeyForm = {
    ...noKey,
    name: k.name,
    owner: k.owner,
    team: k.team,
    labels: Object.entries(k.labels ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join(', '),
    requests: some(k.limits?.requests_per_minute),
    tokens: some(k.limits?.tokens_per_minute),
    concurrent: some(k.limits?.concurrent),
    expires: k.expires_at ?? '',
    budgets: (k.budgets ?? []).map((b) => ({
      usd: some(b.usd),
      tokens: some(b.tokens),
      per: b.per,
      zone: b.zone,
      mode: b.mode,
      warn: b.warn,
    })),
  };
  for (const name of lists) f[name] = (k[name] ?? []).join(', ');
  return f;
}

/** labelsOf reads name=value, name=value; undefined: some part is none. */
export function labelsOf(text: string): Record<string, string> | undefined {
  const out: Record<string, string> = {};
  for (const w of words(text)) {
    const i = w.indexOf('=');
    if (i < 1) return undefined;
    out[w.slice(0, i).trim()] = w.slice(i + 1).trim();
  }
  return out;
}

/** badLabels: the form's labels cannot be read. As they came they always can, even where a text has a comma in it. */
export const badLabels = (f: KeyForm, of?: Key): boolean => labelsOf(f.labels) === undefined && (!of || f.labels !== formOf(of).labels);

/** termsOf is what the form says, for a new key. */
export function termsOf(f: KeyForm): Partial<KeyTerms> {
  const t: Partial<KeyTerms> = {
    name: f.name.trim(),
    owner: f.owner.trim(),
    team: f.team.trim(),
    labels: labelsOf(f.labels) ?? {},
    limits: { requests_per_minute: Number(f.requests), tokens_per_minute: Number(f.tokens), concurrent: Number(f.concurrent) },
    budgets: f.budgets.map((b) => ({
      usd: Number(b.usd),
      tokens: Number(b.tokens),
      per: b.per,
      zone: b.zone.trim() || 'UTC',
      warn: b.warn,
      mode: b.mode,
    })),
  };
  if (f.expires.trim()) t.expires_at = f.expires.trim();
  for (const name of lists) t[name] = words(f[name]);
  return t;
}

/**
 * patchOf is a merge patch from a key to the form: labels that are gone are null, as is an end that is. Labels and lists that nobody
 * changed are not in it, as a word of theirs may have a comma.
 */
export function patchOf(k: Key, f: KeyForm): Record<string, unknown> {
  const { name: _, ...t } = termsOf(f);
  const labels = t.labels ?? {};
  const gone = Object.keys(k.labels ?? {}).filter((name) => !Object.hasOwn(labels, name));
  const patch: Record<string, unknown> = {
    ...t,
    labels: { ...labels, ...Object.fromEntries(gone.map((name) => [name, null])) },
    expires_at: t.expires_at ?? null,
  };
  const before = formOf(k);
  for (const name of ['labels', ...lists] as const) if (f[name] === before[name]) delete patch[name];
  return patch;
}

/** share of a limit that is used, from 0 to 1. */
export const share = (used: number, limit: number | null | undefined): number =>
  limit && limit > 0 ? Math.min(1, Math.max(0, used / limit)) : 0;
