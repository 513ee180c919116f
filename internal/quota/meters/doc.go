// Package meters counts what callers, models and providers use against their limits and budgets, and says whether one more request may come in. It
// is alone in a process, or one of a fleet: then it tells the others through a Store what it counted, and hears what they did, off the request path.
// It knows no configuration, no HTTP and no technology of stores.
package meters
