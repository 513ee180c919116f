package gemini

import (
	"strings"
	"testing"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

const case120 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"properties":{
	"n":{"type":"integer","exclusiveMinimum":0},"mode":{"const":"insert"},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
	"ids":{"type":"array","uniqueItems":true,"items":{"type":"object","additionalProperties":true,"properties":{"id":{"type":"string"}}}}},"required":["n"]}`

func TestJSONSchema(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"case 120", case120, `{"type":"object","additionalProperties":false,"properties":{
			"n":{"type":"integer","exclusiveMinimum":0},"mode":{"enum":["insert"]},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
			"ids":{"type":"array","uniqueItems":true,"items":{"type":"object","additionalProperties":true,"properties":{"id":{"type":"string"}}}}},"required":["n"]}`},
		{
			"definitions", `{"type":"object","definitions":{"A":{"type":"string"}},"properties":{"a":{"description":"x","$ref":"#/definitions/A"},"b":{"$ref":"#/$defs/B"}}}`,
			`{"type":"object","$defs":{"A":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/B"}}}`,
		},
		{
			"allOf of one", `{"properties":{"a":{"allOf":[{"$ref":"#/$defs/A"}],"description":"d","default":1},"b":{"allOf":[{"type":"string","title":"t"}],"title":"mine"},"c":{"allOf":[{},{}]}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"type":"string","title":"mine"},"c":{"allOf":[{},{}]}}}`,
		},
		{
			"data is no schema", `{"type":"object","properties":{"const":{"type":"string"},"$schema":{"enum":[{"const":1}]}},"default":{"$schema":1}}`,
			`{"type":"object","properties":{"const":{"type":"string"},"$schema":{"enum":[{"const":1}]}},"default":{"$schema":1}}`,
		},
		{"bytes are kept", `{"type":"object","z": 1.0 ,"a":[1e2]}`, `{"type":"object","z": 1.0 ,"a":[1e2]}`},
		{"empty", `{ }`, `{"type":"object","properties":{} }`},
		{"no type", `{"properties":{}}`, `{"type":"object","properties":{}}`},
		{"a bare reference", `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object"}}}`, `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object"}}}`},
	} {
		same(t, c.name, c.want, string(appendParameters(nil, []byte(c.in))))
	}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want string
		lossy          bool
	}{
		{"case 120", case120, `{"type":"OBJECT","properties":{"n":{"type":"INTEGER","minimum":1},"mode":{"type":"STRING","enum":["insert"]},"note":{"type":"STRING","nullable":true},
			"ids":{"type":"ARRAY","items":{"type":"OBJECT","properties":{"id":{"type":"STRING"}}}}},"required":["n"]}`, true},
		{
			"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"mine"},"b":{"allOf":[{"$ref":"#/$defs/A"}]}},"$defs":{"A":{"type":"string","description":"theirs"}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING","description":"mine"},"b":{"type":"STRING","description":"theirs"}}}`, false,
		},
		{"a reference to nothing", `{"properties":{"a":{"$ref":"#/x"}}}`, `{"type":"OBJECT","properties":{"a":{}}}`, true},
		{"types", `{"type":["integer","null"],"enum":[1,2]}`, `{"type":"INTEGER","nullable":true}`, true},
		{"an enum", `{"enum":["a",null,"",3]}`, `{"type":"STRING","enum":["a","3"]}`, false},
		{"alternatives", `{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`, `{"anyOf":[{"type":"STRING"},{"type":"INTEGER"}],"nullable":true}`, false},
		{"one alternative comes up", `{"description":"mine","anyOf":[{"type":["string","null"],"description":"theirs","maxLength":3}]}`, `{"description":"mine","type":"STRING","maxLength":3,"nullable":true}`, false},
		{"required of what is not there", `{"type":"object","properties":{"a":{}},"required":["a","b"]}`, `{"type":"OBJECT","properties":{"a":{}},"required":["a"]}`, false},
		{
			"formats", `{"type":"object","properties":{"a":{"type":"string","format":"uri"},"b":{"type":"string","format":"date-time"},"c":{"type":"integer","format":"int64"}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":"STRING","format":"date-time"},"c":{"type":"INTEGER","format":"int64"}}}`, true,
		},
		{"an array of anything", `{"type":"array"}`, `{"type":"ARRAY","items":{"type":"STRING"}}`, false},
	} {
		got, lossy := appendOpenAPI(nil, []byte(c.in))
		same(t, c.name, c.want, string(got))
		if lossy != c.lossy {
			t.Errorf("%s: lossy is %v", c.name, lossy)
		}
		checkType(t, "Schema", got)
	}
}

// A schema that refers to itself, or blows up, ends.
func TestOpenAPIEnds(t *testing.T) {
	t.Parallel()
	wide := `{"$ref":"#/$defs/A"}` + strings.Repeat(`,{"$ref":"#/$defs/A"}`, 20)
	for _, in := range []string{
		`{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/A"}}}`,
		`{"type":"object","properties":{"next":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"next":{"$ref":"#/$defs/A"}}}}}`,
		`{"anyOf":[` + wide + `],"$defs":{"A":{"anyOf":[` + wide + `]}}}`,
		strings.Repeat(`{"items":`, 500) + `{}` + strings.Repeat(`}`, 500),
	} {
		got, lossy := appendOpenAPI(nil, []byte(in))
		if jsonscan.Valid(got) != nil || !lossy || len(got) > 200_000 {
			t.Errorf("%.60s became %d bytes, lossy %v", in, len(got), lossy)
		}
	}
}

// Case 120, whole: nothing of the client's own words comes along.
func TestCase120(t *testing.T) {
	t.Parallel()
	for _, to := range []wire.Target{{Model: "demo"}, {Model: "demo", Quirks: wire.Quirks{Refuses: []string{"parametersJsonSchema"}}}} {
		q := &llm.Request{
			Stream: true, StreamUsage: true, Messages: []llm.Message{user(text("go"))},
			Tools: []llm.Tool{{Name: "edit", Schema: []byte(case120), Strict: ptr(true)}}, Dropped: &llm.Dropped{},
		}
		got := encodeRequest(t, q, to)
		for _, word := range []string{`"$schema"`, `"strict"`, `"stream_options"`, `"stream"`} {
			if strings.Contains(got, word) {
				t.Errorf("%s in %s", word, got)
			}
		}
		if len(to.Quirks.Refuses) > 0 {
			for _, word := range []string{"additionalProperties", "exclusiveMinimum", "const", "uniqueItems"} {
				if strings.Contains(got, word) {
					t.Errorf("%s in %s", word, got)
				}
			}
		}
	}
}
