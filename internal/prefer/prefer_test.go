package prefer

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"evergate/internal/jsonscan"
	"evergate/internal/route"
	"evergate/internal/wire"
)

var names = Names{Providers: []string{"groq", "openai", "Together"}, Policies: []string{"eu-only"}}

// R50: what a request may wish, in a header and in its body.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, header, provider, models string
		want                           route.Preferences
	}{
		{"nothing", "", "", "", route.Preferences{}},
		{"strict alone", "strict", "", "", route.Preferences{Strict: true}},
		{"not strict", "strict=no", "", "", route.Preferences{}},
		{
			"the contract's header", "strategy=least_latency; order=groq,openai; sort=latency; fallbacks=no; timeout=20s; policy=eu-only; strict", "", "",
			route.Preferences{
				Strategy: route.LeastLatency, Chosen: true, Order: []string{"groq", "openai"}, NoFallbacks: true, Timeout: 20 * time.Second,
				Policy: "eu-only", Strict: true,
			},
		},
		{"spaces, cases, an empty part", " ORDER = openai , GROQ ;; Fallbacks=YES ", "", "", route.Preferences{Order: []string{"openai", "groq"}}},
		{"a strategy says more than a sort", "sort=price; strategy=auto", "", "", route.Preferences{Strategy: route.Auto, Chosen: true}},
		{"in either order", "strategy=auto; sort=price", "", "", route.Preferences{Strategy: route.Auto, Chosen: true}},
		{"prices", "max_price=1/2.5", "", "", route.Preferences{MaxPrice: route.Price{Prompt: 1, Completion: 2.5}}},
		{"one price", "max_price=3", "", "", route.Preferences{MaxPrice: route.Price{Prompt: 3, Completion: 3}}},
		{"models", "models=a, b/c", "", "", route.Preferences{Models: []string{"a", "b/c"}}},
		{
			"the body's object", "",
			`{"order":["OpenAI","together"],"only":["openai","groq"],"ignore":["groq"],"allow_fallbacks":false,"sort":"price","require_parameters":true,
			  "data_collection":"deny","max_price":{"prompt":1,"completion":"2"}}`, `["a","b"]`,
			route.Preferences{
				Order: []string{"openai", "Together"}, Only: []string{"openai", "groq"}, Ignore: []string{"groq"}, NoFallbacks: true,
				Strategy: route.LeastCost, Chosen: true, Strict: true, Private: true, MaxPrice: route.Price{Prompt: 1, Completion: 2}, Models: []string{"a", "b"},
			},
		},
		{"throughput", "", `{"sort":"throughput"}`, "", route.Preferences{Strategy: route.LeastBusy, Chosen: true}},
		{"a sort's longer form", "", `{"sort":{"by":"latency","partition":"model"}}`, "", route.Preferences{Strategy: route.LeastLatency, Chosen: true}},
		{"nulls", "", `{"order":null,"max_price":null,"sort":null}`, "null", route.Preferences{}},
		{"a null object", "", "null", "[]", route.Preferences{}},
		{"empty lists", "", `{"order":[],"only":[]}`, "", route.Preferences{}},
		{"escapes", "", `{"\u006frder":["gr\u006fq"]}`, "", route.Preferences{Order: []string{"groq"}}},
		{
			"the header wins over the same of the body, the rest of which holds", "order=openai; sort=latency; fallbacks=yes; models=x",
			`{"order":["groq"],"ignore":["groq"],"sort":"price","allow_fallbacks":false}`, `["y"]`,
			route.Preferences{Order: []string{"openai"}, Ignore: []string{"groq"}, Strategy: route.LeastLatency, Chosen: true, Models: []string{"x"}},
		},
		{"a body may be stricter than a header that says nothing of it", "timeout=1s", `{"require_parameters":true}`, "", route.Preferences{Timeout: time.Second, Strict: true}},
		{"a header that says it is not strict", "strict=no", `{"require_parameters":true}`, "", route.Preferences{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Read([]string{tt.header}, []byte(tt.provider), []byte(tt.models), &names)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Models) == 0 {
				got.Models = nil
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", *got, tt.want)
			}
		})
	}
}

// What is not understood is refused, and names what was meant.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, header, provider, models, param, want string }{
		{"an unknown word", "stratgy=auto", "", "", "x-evergate-prefer", `"stratgy" is not known here; did you mean strategy?`},
		{"a word without its value", "order", "", "", "x-evergate-prefer", "order: has no value; say order=…"},
		{"an unknown word without a value", "strickt", "", "", "x-evergate-prefer", "did you mean strict?"},
		{"an unknown strategy", "strategy=fastest", "", "", "x-evergate-prefer", "known are ordered, weighted"},
		{"an unknown provider", "order=grok", "", "", "x-evergate-prefer", "did you mean groq?"},
		{"an unknown policy", "policy=eu", "", "", "x-evergate-prefer", `"eu" is not known here`},
		{"no time", "timeout=20", "", "", "x-evergate-prefer", "must be a time such as 20s"},
		{"no time at all", "timeout=0s", "", "", "x-evergate-prefer", "must be a time"},
		{"neither yes nor no", "fallbacks=maybe", "", "", "x-evergate-prefer", "must be yes or no"},
		{"an empty list", "only=,", "", "", "x-evergate-prefer", "names no provider"},
		{"no price", "max_price=free", "", "", "x-evergate-prefer", "must be US dollars"},
		{"no object", "", `"openai"`, "", "provider", "must be an object"},
		{"a list", "", `[1]`, "", "provider", "must be an object"},
		{"an unknown member", "", `{"zdr":true}`, "", "provider", `"zdr" is not known here; known are order`},
		{"an unknown member that is null", "", `{"zdr":null}`, "", "provider", `"zdr" is not known here`},
		{"a wrong kind", "", `{"order":"groq"}`, "", "provider.order", "must be an array of providers"},
		{"a wrong kind within", "", `{"order":[1]}`, "", "provider.order", "must be an array of providers"},
		{"a typo where it would be dangerous", "", `{"ignore":["opnai"]}`, "", "provider.ignore", "did you mean openai?"},
		{"no boolean", "", `{"allow_fallbacks":"no"}`, "", "provider.allow_fallbacks", "must be true or false"},
		{"no boolean there", "", `{"require_parameters":1}`, "", "provider.require_parameters", "must be true or false"},
		{"an unknown sort", "", `{"sort":"fast"}`, "", "provider.sort", "known are latency, price, throughput"},
		{"a sort across models", "", `{"sort":{"by":"price","partition":"none"}}`, "", "provider.sort.partition", "must be model"},
		{"an unknown collection", "", `{"data_collection":"maybe"}`, "", "provider.data_collection", "known are allow, deny"},
		{"an unknown price", "", `{"max_price":{"image":1}}`, "", "provider.max_price", `"image" is not known here`},
		{"a negative price", "", `{"max_price":{"prompt":-1}}`, "", "provider.max_price.prompt", "more than 0"},
		{"models that are no list", "", "", `"a"`, "models", "must be an array of model names"},
		{"an empty name", "", "", `[""]`, "models", "has an empty name"},
		{"too many", "", "", `["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"]`, "models", "more than 16"},
		{"wrong in the body although the header stands before it", "order=groq", `{"order":["nobody"]}`, "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Read([]string{tt.header}, []byte(tt.provider), []byte(tt.models), &names)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var re *wire.RequestError
			if !errors.As(err, &re) || re.Param != tt.param || !strings.Contains(re.Message, tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, rest, provider, models string }{
		{"first", `{"provider":{"only":["a"]}, "model":"m"}`, `{"model":"m"}`, `{"only":["a"]}`, ""},
		{"between", `{ "model" : "m",  "models":["x"] ,"n":1.50}`, `{"model" : "m" ,"n":1.50}`, "", `["x"]`},
		{"last", `{"model":"m","provider":null }`, `{"model":"m" }`, "null", ""},
		{"both, and one twice", `{"provider":1,"a":"b","models":[],"provider":{}}`, `{"a":"b"}`, "{}", "[]"},
		{"nothing else", `{"provider":{}}`, `{}`, "{}", ""},
		{"deeper ones stay", `{"a":{"provider":1,"models":2},"models":[]}`, `{"a":{"provider":1,"models":2}}`, "", "[]"},
		{"an escaped name", `{"\u0070rovider":{},"a":1}`, `{"a":1}`, "{}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rest, provider, models := Split([]byte("x"), []byte(tt.body))
			if string(rest) != "x"+tt.rest || string(provider) != tt.provider || string(models) != tt.models {
				t.Errorf("got %s, %s, %s", rest, provider, models)
			}
		})
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, want string }{
		{"none", `{ "a": [1] }`, `{"a": [1],"model":"x\"y" }`},
		{"null", `{"model":null,"a":1}`, `{"a":1,"model":"x\"y"}`},
		{"nothing else", `{"model":null}`, `{"model":"x\"y"}`},
		{"nothing", `{}`, `{"model":"x\"y"}`},
		{"an escaped name, and twice", `{"mod\u0065l":null,"a":1,"model":null}`, `{"a":1,"model":"x\"y"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Name([]byte("x"), []byte(tt.body), `x"y`); string(got) != "x"+tt.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add("strategy=auto; order=groq", `{"order":["groq"],"sort":{"by":"price"}}`, `["a"]`)
	f.Fuzz(func(_ *testing.T, header, provider, models string) {
		if jsonscan.Valid([]byte(provider)) != nil || jsonscan.Valid([]byte(models)) != nil {
			return // the dialect has refused it
		}
		_, _ = Read([]string{header}, []byte(provider), []byte(models), &names)
	})
}

func FuzzSplit(f *testing.F) {
	f.Add(`{"provider":{},"a":[1,{"provider":2}],"models":[]}`)
	f.Fuzz(func(t *testing.T, body string) {
		if !jsonscan.IsObject([]byte(body)) || jsonscan.Valid([]byte(body)) != nil {
			return
		}
		rest, _, _ := Split(nil, []byte(body))
		if err := jsonscan.Valid(rest); err != nil {
			t.Fatalf("%q became %q: %v", body, rest, err)
		}
		if again, provider, models := Split(nil, rest); string(again) != string(rest) && (provider != nil || models != nil) {
			t.Fatalf("%q has them still", rest)
		}
	})
}
