package provider

import (
	"fmt"
	"slices"
	"testing"
)

// A refresh token that stays the same through every renewal is masked all the time, and so are the latest access tokens.
func TestAnUnchangedRefreshTokenStaysMasked(t *testing.T) {
	t.Parallel()
	var g grant
	for i := range 20 {
		g.note(Secret(fmt.Sprint("access-", i)), "refresh")
		given := *g.given.Load()
		for _, s := range []Secret{"refresh", Secret(fmt.Sprint("access-", i)), Secret(fmt.Sprint("access-", max(i-keptSecrets+2, 0)))} {
			if !slices.Contains(given, s) {
				t.Errorf("after renewal %d %s is not masked: there are %d", i, s.Reveal(), len(given))
			}
		}
	}
}
