package replica

// Reached gives the store while it is reached, for those who keep other things in it than pages; nil while it is known to be lost, or not yet opened.
// It is closed by Stop.
func (f *Fleet) Reached() Store {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.told && !f.state.reached {
		return nil
	}
	return f.store
}
