package ingress

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"evergate/internal/attempt"
	"evergate/internal/route"
	"evergate/internal/wire/openaichat"
)

// A request without preferences pays nothing for those of others.
func TestNoPreferencesCostNothing(t *testing.T) {
	cfg := &Config{Table: &route.Table{Virtual: map[string]*route.Virtual{"m": {Name: "m"}}}, Providers: map[string]*Provider{"p": {KeyHeader: KeyHeader("p")}}}
	x := &exchange{cfg: cfg, dialect: openaichat.Chat{}, r: httptest.NewRequest(http.MethodPost, "/", strings.NewReader(""))}
	x.call.Body = attempt.GetBuffer(1)
	x.call.Body.B = append(x.call.Body.B, `{"model":"m","messages":[]}`...)
	x.call.Request, _ = x.dialect.ReadRequest(x.call.Body.B)
	r := route.Resolution{Targets: []route.Target{{Provider: "p", Model: "m"}}}
	chose := false
	if n := testing.AllocsPerRun(100, func() {
		if f := x.readPreferences(); f != nil {
			t.Fatal(f.Message)
		}
		chose = x.chooses(&r) || x.brings("p")
	}); n != 0 || chose {
		t.Errorf("%v allocations; something has a say: %t", n, chose)
	}
}

// What a caller brings is for the provider that the header names, whatever the case and the scheme.
func TestBroughtKey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ provider, header, value, want string }{
		{"openai", "x-evergate-key-openai", "sk-1", "sk-1"},
		{"My_Own.one", "X-EVERGATE-KEY-MY_OWN.ONE", "sk-1", "sk-1"},
		{"openai", "x-evergate-key-openai", "bEARER  sk-1", "sk-1"},
		{"openai", "x-evergate-key-openai", "Bearer", "Bearer"},
		{"openai", "x-evergate-key-openai-eu", "sk-1", ""},
		{"openai", "x-evergate-key", "sk-1", ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(""))
		r.Header.Set(tt.header, tt.value)
		x := &exchange{r: r}
		if got := x.broughtKey(&Provider{KeyHeader: KeyHeader(tt.provider)}); got != tt.want {
			t.Errorf("%s: %s: the key of %s is %q, want %q", tt.header, tt.value, tt.provider, got, tt.want)
		}
	}
}
