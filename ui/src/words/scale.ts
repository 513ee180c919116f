// Round numbers for the axes of charts.

/** scale gives round values from 0 to at least most, about so many steps. */
export function scale(most: number, steps: number): number[] {
  if (!(most > 0) || !Number.isFinite(most)) return [0, 1];
  const rough = most / steps;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * size).find((s) => s >= rough * 0.999) ?? rough;
  const out: number[] = [];
  for (let i = 0; i <= Math.ceil(most / step - 1e-9); i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}

const MINUTE = 60_000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1440, 2880, 10080].map((m) => m * MINUTE);

/** timeTicks gives the indexes of those times that stand on round local times, at most so many. */
export function timeTicks(at: number[], most: number): number[] {
  const from = at[0];
  const to = at[at.length - 1];
  if (from === undefined || to === undefined || most < 1) return [];
  if (to === from) return [0];
  const step = STEPS.find((s) => (to - from) / s <= most) ?? (to - from) / most;
  const zone = from > 1e11 ? new Date(from).getTimezoneOffset() * MINUTE : 0; // short times count from a start of their own
  const out: number[] = [];
  at.forEach((t, i) => {
    const before = at[i - 1] ?? t - (at[1] ?? t) + from;
    if (Math.floor((t - zone) / step) !== Math.floor((before - zone) / step)) out.push(i);
  });
  return out.length > 0 ? out : [0];
}
