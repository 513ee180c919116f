// What the admin API answers, as api/admin.yaml has it. Every field may be absent in an answer of another version; pages treat
// what they do not find as not known.

import type { Shape } from '../words/shape';

export type Time = string | null | undefined;

export interface Tokens {
  input?: number;
  output?: number;
  cached_input?: number;
  cache_write?: number;
  reasoning?: number;
  audio_input?: number;
  audio_output?: number;
  estimated?: boolean;
}

export interface Operator {
  action: string;
  reason: string;
  until: Time;
}

export interface Breaker {
  state: string;
  trip: string;
  consecutive_failures: number;
  failures_total: number;
  opened_at: Time;
  retry_at: Time;
  offences: number;
  ramp_until?: Time;
  operator?: Operator;
}

export interface Credential {
  state: string;
  level: number;
  cooldown_until: Time;
  reason: string;
  token?: { state: string; failures: number; retry_at: Time };
}

export interface Lockout {
  model: string;
  credential: string;
  until: Time;
  reason: string;
  level: number;
}

export interface Provider {
  status: string;
  last_checked: Time;
  in_flight: number;
  latency_ms: { first_content: number; total: number };
  breaker: Breaker;
  breakers?: Record<string, Breaker>;
  credentials: Record<string, Credential>;
  lockouts: Lockout[];
  message?: string;
  stale?: boolean;
  disabled?: boolean;
}

export interface Belief {
  guard: string;
  model?: string;
  credential?: string;
  reason: string;
  until: Time;
}

export interface Instance {
  id: string;
  self: boolean;
  version: string;
  started: Time;
  last_seen: Time;
  lag_ms: number;
  silent?: boolean;
  left?: boolean;
  believes?: Record<string, Belief[]>;
}

export interface Health {
  instance: string;
  providers: Record<string, Provider>;
  instances: Instance[];
  state: {
    store: string;
    address?: string;
    reached: boolean;
    since: Time;
    last_sync: Time;
    lag_ms: number;
    errors_total: number;
    message?: string;
  };
}

export interface Request {
  id: string;
  row: string;
  instance: string;
  start: string;
  dialect: string;
  stream: boolean;
  key: string;
  asked: string;
  route: string;
  provider: string;
  model: string;
  status: number;
  code: string;
  duration_ms: number;
  first_content_ms: number | null;
  overhead_ms: number;
  attempts: number;
  rescued: boolean;
  added_ms: number;
  added_cost_usd: number | null;
  tokens: Tokens;
  cost_usd: number | null;
  trail: string;
  finish: string;
  drill: string;
  trace_id: string;
}

export interface Step {
  provider: string;
  model: string;
  credential: string;
  skipped: boolean;
  status: number;
  reason: string;
  why: string;
  until: Time;
  offset_ms: number;
  duration_ms: number;
  first_content_ms: number | null;
  tokens?: Tokens;
  cost_usd?: number | null;
  message?: string;
  drill?: string;
  seam?: number;
}

export interface FullRequest extends Request {
  steps: Step[];
  candidates: { provider: string; model: string; on?: string }[];
  order: string;
  waits_ms: number;
  upstream_ms: number;
  affinity: string;
  lost?: string[];
  body?: { request: string; response: string; request_cut: boolean; response_cut: boolean };
}

export interface Entry {
  row: string;
  at: string;
  instance: string;
  kind: string;
  provider: string;
  model?: string;
  credential?: string;
  guard?: string;
  from?: string;
  to?: string;
  trip?: string;
  reason?: string;
  by?: string;
  until?: Time;
  request_id?: string;
  message?: string;
}

export interface UsageRow {
  at?: string;
  key?: string;
  model?: string;
  provider?: string;
  route?: string;
  owner?: string;
  team?: string;
  labels?: Record<string, string | null>;
  current_cost_usd?: number;
  current_unpriced_tokens?: number;
  requests: number;
  attempts: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  cost_usd: number;
  ok: number;
  failed: number;
  rescued: number;
  failovers: number;
  availability: number | null;
  added_ms: number;
  added_cost_usd: number;
  duration_ms_avg: number | null;
  first_content_ms: FirstContent;
  unpriced_attempts: number;
  estimated_tokens: number;
}

export interface FirstContent {
  avg: number | null;
  p50: number | null;
  p95: number | null;
}

export interface Usage {
  from: string;
  to: string;
  rows: UsageRow[];
  total: UsageRow;
}

export interface OverviewPoint {
  at: string;
  requests: number;
  failed: number;
  rescued: number;
  attempts: number;
  cost_usd: number;
  first_content_ms: FirstContent;
}

export interface ModelFigures {
  route: string;
  requests: number;
  failed: number;
  availability: number | null;
  target: number | null;
  budget_left: number | null;
  burn_rate: number | null;
}

export interface Overview {
  at: string;
  now: {
    requests_per_second: number;
    availability: number | null;
    first_content_ms: FirstContent;
    attempts_per_request: number | null;
    rescued: number;
    spend_usd_per_hour: number;
  };
  window: {
    from: string;
    to: string;
    requests: number;
    ok: number;
    failed: number;
    rescued: number;
    failovers: number;
    availability: number | null;
    attempts: number;
    attempts_per_request: number | null;
    cost_usd: number;
    unpriced_attempts: number;
    added_ms: number;
    added_cost_usd: number;
    first_content_ms: FirstContent;
  };
  series: OverviewPoint[];
  models: ModelFigures[];
}

export interface Block {
  guard: string;
  reason: string;
  until?: string;
  named_by_upstream?: boolean;
}

export interface Candidate {
  /** position is when it is tried, from 1; 0: it is not. */
  position: number;
  declared: number;
  provider: string;
  model: string;
  why: string;
  blocked?: Block;
  forced?: boolean;
  wait_ms?: number;
  on?: string;
  dialect?: string;
  credential?: string;
  credentials?: { name: string; state: string; blocked?: Block }[];
  first_content_ms?: number;
  judged?: {
    in_flight: number;
    cost_usd?: number;
    score?: { score: number; health: number; latency: number; cost: number; headroom: number };
  };
}

export interface Model {
  name: string;
  strategy: string;
  targets: { provider: string; model: string; weight?: number; on?: string; virtual?: boolean }[];
  summary: string;
  order: Candidate[];
  affinity: boolean;
  hedge: string;
  resume: boolean;
  mirror?: { provider: string; model: string; share: number };
  availability?: number;
}

export interface Models {
  models: Model[];
  plain: number;
}

export interface ProviderConfig {
  name: string;
  type: string;
  class: string;
  base_url: string;
  disabled: boolean;
  credentials: string[];
  settings: { name: string; value: string; from: string }[];
}

export interface Problem {
  file?: string;
  line?: number;
  column?: number;
  path?: string;
  message: string;
  suggestion?: string;
}

export interface Config {
  file: string;
  loaded_at: Time;
  yaml: string;
  providers: ProviderConfig[];
  keys?: string[];
  data_plane?: string;
  data_plane_tls?: boolean;
  problems: Problem[];
}

export interface Spread {
  p50: number;
  p95: number;
  p99: number;
}

export interface SimulatedSums {
  model?: string;
  requests: number;
  answered: number;
  cut: number;
  left: number;
  failed: number;
  missed: number;
  availability: number;
  best_achievable: number;
  latency_ms: Spread;
  first_content_ms: Spread;
  attempts: number;
  attempts_per_request: number;
  rescued: number;
  hedges: number;
  hedges_won: number;
  retries: number;
  waits: number;
  waited_ms: number;
  endings: { what: string; n: number }[] | null;
}

export interface Simulation {
  name: string;
  seed: number;
  duration_ms: number;
  step_ms: number;
  overall: SimulatedSums;
  models: SimulatedSums[];
  worst_minute: { at_ms: number; requests: number; attempts: number; ratio: number };
  providers: {
    name: string;
    attempts: number;
    answers: number;
    failures: { what: string; n: number }[] | null;
    most_in_flight: number;
    breaker_opened: number;
    keys_rested: number;
    models_locked: number;
  }[];
  weather: { kind: string; providers: string[] | null; model?: string; key?: string; from_ms: number; to_ms: number }[] | null;
  guards:
    | {
        at_ms: number;
        provider: string;
        guard: string;
        credential?: string;
        model?: string;
        from: string;
        to: string;
        trip?: string;
        reason?: string;
        until_ms?: number;
      }[]
    | null;
  guards_left_out?: number;
  series:
    | {
        at_ms: number;
        requests: number;
        answered: number;
        cut: number;
        failed: number;
        missed: number;
        attempts: number;
        retries: number;
        p50_ms: number;
        p95_ms: number;
        by_provider: { attempts: number; failures: number }[] | null;
      }[]
    | null;
}

export interface FaultCounts {
  injected?: number;
  requests?: number;
  rescued?: number;
  failed?: number;
  added_ms?: number;
  blocks?: number;
}

export interface Fault {
  id: string;
  provider: string;
  model: string;
  key: string;
  header: { name: string; value?: string } | null;
  share: number;
  shape: Shape;
  since: Time;
  until: Time;
  budget: number;
  max_user_errors: number;
  reason: string;
  by: string;
  state: string;
  ended: { why: string; at: Time; reason?: string; by?: string } | null;
  counts: FaultCounts;
}

export interface FaultReport extends Fault {
  here: FaultCounts;
  instances: number;
  guards: { transition: string; count: number }[];
}

/** Receiver is who is told of alerts. */
export interface Receiver {
  name: string;
  format: string;
  signed: boolean;
  on: string[];
  for_ms: number;
  delivered: number;
  failed: number;
  dropped: number;
  waiting: number;
  last_delivered: Time;
  message: string;
}

export interface AlertTest {
  receiver: string;
  delivered: boolean;
  status: number;
  message: string;
  duration_ms: number;
}

export interface LimitTerms {
  requests_per_minute: number;
  tokens_per_minute: number;
  concurrent: number;
}

export interface BudgetTerms {
  usd: number;
  tokens: number;
  per: string;
  zone: string;
  warn: number;
  mode: string;
}

/** KeyTerms are what a caller's key may, as the admin API takes and shows them. */
export interface KeyTerms {
  name: string;
  owner: string;
  team: string;
  labels: Record<string, string> | null;
  models: string[] | null;
  providers: string[] | null;
  policies: string[] | null;
  routes: string[] | null;
  sources: string[] | null;
  guardrails: string[] | null;
  limits: LimitTerms;
  budgets: BudgetTerms[] | null;
  expires_at: Time;
}

export interface Key extends KeyTerms {
  id: string;
  source: string;
  prefix: string;
  state: string;
  created_at: Time;
  created_by: string;
  changed_at: Time;
  changed_by: string;
  reason: string;
  revoked_at: Time;
  old_key_until: Time;
  last_used_at: Time;
}

export interface Keys {
  asks_for_keys: boolean;
  keys: Key[];
}

/** NewKey is the one reply that has the key itself. */
export interface NewKey extends Key {
  key: string;
}

export interface LimitGauge {
  limit: number;
  used: number;
  held: number;
}

export interface BudgetGauge {
  per: string;
  zone: string;
  from: Time;
  to: Time;
  limit_usd: number | null;
  spent_usd: number;
  held_usd: number;
  limit_tokens: number | null;
  spent_tokens: number;
  held_tokens: number;
  warn: number;
  mode: string;
}

export interface LimitedScope {
  scope: string;
  name: string;
  requests_per_minute: LimitGauge | null;
  tokens_per_minute: LimitGauge | null;
  concurrent: LimitGauge | null;
  budgets: BudgetGauge[] | null;
}

export interface Limits {
  shared: boolean;
  instances: number;
  scopes: LimitedScope[] | null;
}
