package admin

// UsageSources are what usage is told with beside the ledger.
type UsageSources struct {
	// Words gives what is said of a key by its name, also of one that is revoked; nil: nothing is.
	Words func(key string) KeyWords
	// Price is what tokens would cost now at a provider's model, in billionths of a dollar; false: a price that it takes is not known. nil: none is.
	Price func(provider, model string, of PricedTokens) (nano int64, known bool)
}

// PricedTokens are tokens; CachedInput and CacheWrite are parts of Input.
type PricedTokens struct{ Input, CachedInput, CacheWrite, Output int64 }
