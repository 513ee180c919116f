package store

import (
	"errors"
	"strings"
)

// Hidden is what stands in place of a secret.
const Hidden = "***"

// Hide gives err with each secret in its text replaced, and in one line, so that no log line, reply or metric repeats the password of a store's address. What the
// error is stays known to errors.Is; nil stays nil. An empty secret is none.
func Hide(err error, secrets ...string) error {
	if err == nil {
		return nil
	}
	said := err.Error()
	text := strings.NewReplacer("\n\t", " ", "\n", " ", "\t", " ").Replace(said)
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, Hidden)
		}
	}
	if text == said {
		return err
	}
	return &hidden{text: text, cause: err}
}

// hidden has no Unwrap: that would hand out the text.
type hidden struct {
	text  string
	cause error
}

func (h *hidden) Error() string        { return h.text }
func (h *hidden) Is(target error) bool { return errors.Is(h.cause, target) }
