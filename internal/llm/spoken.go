package llm

// Spoken is what a recording says, where it is known: text for who cannot be given sound. Empty for every other kind.
func (p *Part) Spoken() string {
	if p.Kind != Audio || p.Media == nil {
		return ""
	}
	return p.Media.Transcript
}
