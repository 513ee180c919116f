package gemini

import "strings"

// traits are what is known of the models of one family by their ids.
type traits struct {
	prefix string
	// thinks says how thinking is asked for: by a budget between least (0: unknown) and most tokens, or by one of levels.
	thinks      thinking
	least, most int64
	canStop     bool // a budget of 0 turns it off
	levels      []string
	// unsigned: function calls in the history need no signature.
	unsigned bool
	// openAPI: schemas must be OpenAPI's, not JSON Schema.
	openAPI bool
	// inlineOnly: files at URLs of others are not fetched.
	inlineOnly bool
	// noJSONTools: functions and JSON output exclude each other.
	noJSONTools bool
	// richResults: results of functions can hold files.
	richResults bool
	// noPenalties: presence and frequency penalties are refused.
	noPenalties bool
}

type thinking uint8

const (
	never thinking = iota
	fixed          // always, and nothing can be said about it but whether it is shown
	byBudget
	byLevel
)

// traitsOf finds a model's family. Unknown ids are taken for a newer model, whose budget is asked for as all that think
// understand it.
func traitsOf(model string) traits {
	id := strings.ToLower(model)
	if at := strings.LastIndexByte(id, '/'); at >= 0 {
		id = id[at+1:]
	}
	four := []string{"minimal", "low", "medium", "high"}
	three := four[1:]
	for _, t := range [...]traits{
		{prefix: "gemini-3-pro-image", thinks: fixed, richResults: true},
		{prefix: "gemini-3.1-flash-image", thinks: byLevel, levels: []string{"minimal", "high"}, richResults: true},
		{prefix: "gemini-3-pro", thinks: byLevel, levels: []string{"low", "high"}, richResults: true},
		{prefix: "gemini-3.1-pro", thinks: byLevel, levels: three, richResults: true},
		{prefix: "gemini-3-flash", thinks: byLevel, levels: four, richResults: true},
		{prefix: "gemini-3.1-flash", thinks: byLevel, levels: four, richResults: true},
		{prefix: "gemini-3.5-flash-lite", thinks: byLevel, levels: four, richResults: true, noPenalties: true},
		{prefix: "gemini-3.5-flash", thinks: byLevel, levels: four, richResults: true},
		{prefix: "gemini-3.6-flash", thinks: byLevel, levels: four, richResults: true},
		{prefix: "gemini-3", thinks: byLevel, levels: three, richResults: true},
		{prefix: "gemini-pro-latest", thinks: byLevel, levels: three, richResults: true},
		{prefix: "gemini-flash-latest", thinks: byLevel, levels: three, richResults: true},
		{prefix: "gemini-flash-lite-latest", thinks: byLevel, levels: three, richResults: true},
		{prefix: "gemini-2.5-flash-image", unsigned: true, noJSONTools: true},
		{prefix: "gemini-2.5-flash-lite", thinks: byBudget, least: 512, most: 24576, canStop: true, unsigned: true, noJSONTools: true},
		{prefix: "gemini-2.5-flash", thinks: byBudget, least: 1, most: 24576, canStop: true, unsigned: true, noJSONTools: true},
		{prefix: "gemini-2.5-pro", thinks: byBudget, least: 128, most: 32768, unsigned: true, noJSONTools: true},
		{prefix: "gemini-robotics-er-1.5", thinks: byBudget, least: 1, most: 24576, canStop: true, unsigned: true, noJSONTools: true},
		{prefix: "gemini-2", unsigned: true, inlineOnly: true, noJSONTools: true},
		{prefix: "gemini-1", unsigned: true, openAPI: true, inlineOnly: true, noJSONTools: true},
		{prefix: "gemma", unsigned: true, inlineOnly: true},
		{prefix: "learnlm", unsigned: true, inlineOnly: true, noJSONTools: true},
	} {
		if strings.HasPrefix(id, t.prefix) {
			return t
		}
	}
	return traits{thinks: byBudget, most: 24576}
}
