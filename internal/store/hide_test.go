package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"evergate/internal/store"
)

func TestHide(t *testing.T) {
	t.Parallel()
	if store.Hide(nil, "pw") != nil {
		t.Error("nothing became an error")
	}
	harmless := errors.New("connection refused")
	if got := store.Hide(harmless, "", "pw"); got != harmless { //nolint:errorlint // the very same
		t.Errorf("a harmless error became %v", got)
	}
	if got := store.Hide(errors.New("no host:\n\tone\n\ttwo")).Error(); got != "no host: one two" {
		t.Errorf("got %q", got)
	}
	got := store.Hide(fmt.Errorf("dial pw@host: p%%77: %w", context.Canceled), "pw", "p%77", "")
	if strings.Contains(got.Error(), "pw") || strings.Contains(got.Error(), "p%77") || !strings.Contains(got.Error(), store.Hidden) {
		t.Errorf("got %v", got)
	}
	if !errors.Is(got, context.Canceled) {
		t.Error("what it is got lost")
	}
	for err := got; err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), "pw") {
			t.Errorf("unwrapped it says %v", err)
		}
	}
}
