package attempt

import (
	"bytes"
	"net/http"
	"strings"

	"evergate/internal/fault"
)

// callersCredential is the name, in trails and logs, of a key that the caller brought.
const callersCredential = "caller"

// callers is what a fault means where the caller's own key was used: a refusal of that key goes back as it is (R8). Whatever
// the upstream says, the key is not in it.
func (l *Leg) callers(f *fault.Fault) *fault.Fault {
	said := *f
	switch said.Class {
	case fault.Auth:
		said.Class = fault.CallerAuth
	case fault.Quota, fault.ModelLimited:
		if said.Status == http.StatusUnauthorized || said.Status == http.StatusForbidden {
			said.Class = fault.CallerAuth
		}
	default:
	}
	const hidden = "***"
	said.Message = strings.ReplaceAll(said.Message, l.Key, hidden)
	said.Code = strings.ReplaceAll(said.Code, l.Key, hidden)
	if bytes.Contains(said.Body, []byte(l.Key)) {
		said.Body = bytes.ReplaceAll(said.Body, []byte(l.Key), []byte(hidden))
	}
	return &said
}

// credentialName is the name of the credential that a leg is tried with.
func (l *Leg) credentialName(i int) string {
	if l.Key != "" {
		return callersCredential
	}
	return l.Guards.CredentialName(i)
}
