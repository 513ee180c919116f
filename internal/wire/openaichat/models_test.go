package openaichat

import (
	"errors"
	"testing"

	"evergate/internal/wire"
)

// Where "models" is there and "model" is not, whoever reads preferences names the model, and a usual one does not stand in its place.
func TestModelsWithoutModel(t *testing.T) {
	t.Parallel()
	dialects := append(Asides(), Embeddings{}, Completions{})
	for _, d := range dialects {
		const more = `,"prompt":"p","input":"i"}`
		for body, want := range map[string]bool{
			`{"models":["x"]` + more: true, `{"model":null,"models":["x"]` + more: true, `{"models":null` + more: false, `{"model":null` + more: false,
		} {
			q, err := d.ReadRequest([]byte(body))
			if d.Name() == "moderations" && !want {
				if err != nil || q.Model != "omni-moderation-latest" {
					t.Errorf("%s: %s: %q, %v", d.Name(), body, q.Model, err)
				}
				continue
			}
			if refused := (*wire.RequestError)(nil); (err == nil) != want || q.Model != "" || want && !q.Prefers || !want && (!errors.As(err, &refused) || refused.Param != "model") {
				t.Errorf("%s: %s: %q, %v", d.Name(), body, q.Model, err)
			}
		}
		for _, body := range []string{`{"model":"m","Model":"n"` + more, `{"MODEL":"n"` + more, `{"m\u004fdel":"n","model":"m"` + more} {
			if _, err := d.ReadRequest([]byte(body)); err == nil {
				t.Errorf("%s: %s is read", d.Name(), body)
			}
		}
	}
}
