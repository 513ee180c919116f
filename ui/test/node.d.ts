// As much of Node's types as the tests use.
declare module 'node:test' {
  const test: (name: string, run: () => void | Promise<void>) => void;
  export default test;
  export const mock: { timers: { enable: (o: { apis: string[] }) => void; tick: (ms: number) => void; reset: () => void } };
}
declare module 'node:assert/strict' {
  const assert: {
    (value: unknown, message?: string): asserts value;
    equal(got: unknown, want: unknown, message?: string): void;
    deepEqual(got: unknown, want: unknown, message?: string): void;
    ok(value: unknown, message?: string): void;
  };
  export default assert;
}
declare const process: { env: Record<string, string | undefined> };
