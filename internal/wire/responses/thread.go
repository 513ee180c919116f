package responses

// Input is the function Input, for who keeps conversations by their dialect.
func (Responses) Input(body []byte) ([]byte, error) { return Input(body) }

// Output is the function Output.
func (Responses) Output(reply []byte) (id string, output []byte, err error) { return Output(reply) }

// Dereference is the function Dereference.
func (Responses) Dereference(body []byte, output func(id string) []byte) ([]byte, error) {
	return Dereference(body, output)
}

// Expand is the function Expand.
func (Responses) Expand(body []byte, history [][]byte) ([]byte, error) { return Expand(body, history) }
