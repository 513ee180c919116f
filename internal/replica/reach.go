package replica

// Reached gives the store while it is reached, for those who keep other things in it than pages; nil while it is known to be lost, or not yet opened.
// It is closed by Stop. Reached waits for nothing: requests may call it (R60).
func (f *Fleet) Reached() Store {
	if s := f.usable.Load(); s != nil {
		return *s
	}
	return nil
}

// turn sets what Reached gives. It requires the lock.
func (f *Fleet) turn() {
	if store := f.store; store != nil && (f.state.reached || !f.state.told) {
		f.usable.Store(&store)
	} else {
		f.usable.Store(nil)
	}
}
