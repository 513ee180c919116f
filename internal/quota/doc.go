// Package quota is what somebody may use: limits on requests, tokens and requests in flight, and budgets of money and tokens for a period. It owns their terms and the
// arithmetic of windows and periods. It is pure: time comes in, and who counts what where is the business of its subpackage.
//
// It must not know HTTP, keys or stores.
package quota
