package config

import "slices"

// addDetected adds the providers whose variables are set: a key, or the base URL of a server that needs none. A
// provider of the file with the same name or type wins. It returns name and variable of each.
func (b *builder) addDetected() []string {
	var found []string
	for _, p := range presets() {
		taken := slices.ContainsFunc(b.file.providers.v, func(e entry[providerFile]) bool { return e.name == p.name || e.v.typ.v == p.name })
		if p.quiet || taken || p.keyEnv == "" {
			continue
		}
		f := providerFile{typ: given[string]{v: p.name, set: true}}
		f.baseURL = readVariable(b.reader, b.env, p.urlEnv, text("a URL"))
		f.apiKey = secretVariable(b.reader, b.env, p.keyEnv)
		by := p.keyEnv
		if f.apiKey.absent() && p.moreEnv != "" {
			f.apiKey, by = secretVariable(b.reader, b.env, p.moreEnv), p.moreEnv
		}
		switch {
		case f.apiKey.set && p.class != classLocal:
		case f.baseURL.set && (p.class == classLocal || pointsNear(f.baseURL.v, p)):
			by = p.urlEnv
			f.class = given[string]{v: classLocal, set: true}
		default:
			continue
		}
		if missing := b.alsoNeeded(p, &f); missing != "" {
			b.warn(variablePlace(by), "is set, but a provider of type %s needs %s too; it is left out", p.name, missing)
			continue
		}
		found = append(found, p.name+" ("+by+")")
		b.detected = append(b.detected, entry[providerFile]{name: p.name, at: variablePlace(by), v: f})
	}
	return found
}

// alsoNeeded is the variable without which a detected provider has no place, empty if it has one.
func (b *builder) alsoNeeded(p preset, f *providerFile) string {
	switch p.name {
	case azure:
		if f.baseURL.absent() {
			return p.urlEnv
		}
	case bedrock:
		if orVariable(b.reader, b.env, given[string]{}, regionShape(), regionVariables()).absent() {
			return regionVariables()[0]
		}
	}
	return ""
}

// pointsNear says whether a base URL is this machine or a private network, where a key is not needed.
func pointsNear(raw string, p preset) bool {
	u, wrong, _ := baseURL(raw, p)
	return wrong == "" && near(u.Hostname())
}

// DetectionVariables are the variables that give a provider away, in the order in which providers are detected: for
// the message that none was found.
func DetectionVariables() []string {
	var names []string
	for _, p := range presets() {
		switch {
		case p.quiet || p.keyEnv == "" || p.name == azure || p.name == bedrock: // or it takes two
		case p.class == classLocal:
			names = append(names, p.urlEnv)
		default:
			names = append(names, p.keyEnv)
		}
	}
	return names
}
