package gemini

import (
	"errors"
	"testing"

	"evergate/internal/wire"
)

// What cannot be read is not left out in silence: Google refuses it, too.
func TestMistakenConfig(t *testing.T) {
	t.Parallel()
	for config, field := range map[string]string{
		`7`:                         "generationConfig",
		`{"temperature":"hot"}`:     "generationConfig.temperature",
		`{"top_p":[]}`:              "generationConfig.topP",
		`{"topK":1.5}`:              "generationConfig.topK",
		`{"maxOutputTokens":true}`:  "generationConfig.maxOutputTokens",
		`{"stopSequences":"END"}`:   "generationConfig.stopSequences",
		`{"seed":"7"}`:              "", // protobuf's JSON knows numbers in quotes
		`{"topK":40.0,"seed":null}`: "",
	} {
		body := `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":` + config + `}`
		r, err := Generate{}.ReadRequest([]byte(body))
		if err == nil {
			_, err = Generate{}.DecodeRequest(&r)
		}
		var re *wire.RequestError
		switch {
		case field == "" && err != nil:
			t.Errorf("%s: %v", config, err)
		case field != "" && (!errors.As(err, &re) || re.Param != field):
			t.Errorf("%s: %v, want %s named", config, err, field)
		}
	}
}

func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int64{"40": 40, "40.0": 40, `"40"`: 40, "4e1": 40, "-1": -1, "9007199254740993": 9007199254740993} {
		if n, ok := whole([]byte(raw)); !ok || n != want {
			t.Errorf("%s: %d, %v", raw, n, ok)
		}
	}
	for _, raw := range []string{"1.5", "true", `"x"`, `""`, "{}", "1e300"} {
		if n, ok := whole([]byte(raw)); ok {
			t.Errorf("%s: %d", raw, n)
		}
	}
}
