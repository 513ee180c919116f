/** own looks a word up in an object, where only the object's own members count: words come from addresses and from configs. */
export const own = <T>(all: Record<string, T> | undefined | null, word: string): T | undefined =>
  all && Object.hasOwn(all, word) ? all[word] : undefined;
