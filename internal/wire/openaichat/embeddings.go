package openaichat

import (
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

// DecodeEmbed reads a request for embeddings. The error is a *wire.RequestError.
func (Embeddings) DecodeEmbed(r *wire.Request) (*llm.EmbedRequest, error) {
	d := newRequestDecoder(r)
	q := &llm.EmbedRequest{Model: r.Model, Dropped: d.q.Dropped}
	d.r.Object()
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "model", "provider", "models":
			d.r.Skip()
		case "input":
			d.input(q)
		case "dimensions":
			q.Dimensions = d.integer("dimensions")
		case "encoding_format":
			switch word := d.text("encoding_format"); word {
			case "", "float":
			case "base64":
				q.Base64 = true
			default:
				d.fail("encoding_format", `"encoding_format" must be float or base64`)
			}
		case "user":
			q.User = d.text("user")
		default:
			d.drop(string(key))
		}
	}
	if d.err == nil && len(q.Inputs)+len(q.Tokens) == 0 {
		d.fail("input", `"input" is missing or empty: send a string or an array of strings`)
	}
	if _, err := d.done(r.Body); err != nil {
		return nil, err
	}
	return q, nil
}

// input reads text, token ids, or a list of either.
func (d *requestDecoder) input(q *llm.EmbedRequest) {
	const want = "a string, an array of strings, or token ids"
	q.Inputs, q.Tokens = nil, nil
	switch d.r.Kind() {
	case jsonscan.String:
		text := d.str()
		q.Inputs = []string{text}
	case jsonscan.Array:
		var flat []int64
		d.r.Array()
		for d.r.Elem() {
			switch d.r.Kind() {
			case jsonscan.String:
				text := d.str()
				q.Inputs = append(q.Inputs, text)
			case jsonscan.Number:
				flat = append(flat, d.integer("input"))
			case jsonscan.Array:
				d.r.Array()
				ids := []int64{}
				for d.r.Elem() {
					ids = append(ids, d.integer("input"))
				}
				q.Tokens = append(q.Tokens, ids)
			case jsonscan.Object, jsonscan.Bool, jsonscan.Null, jsonscan.None:
				d.refuse("input", want)
			}
		}
		if flat != nil {
			q.Tokens = append(q.Tokens, flat)
		}
		if len(q.Inputs) > 0 && len(q.Tokens) > 0 {
			d.fail("input", `"input" must be `+want+", not a mixture")
		}
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Object, jsonscan.Number, jsonscan.Bool:
		d.refuse("input", want)
	}
}

// AppendEmbedReply appends a list of embeddings, as numbers or in base64 as q wants it.
func (Embeddings) AppendEmbedReply(dst []byte, a *llm.EmbedReply, q *llm.EmbedRequest) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i, v := range a.Vectors {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"object":"embedding","index":`...)
		dst = strconv.AppendInt(dst, int64(i), 10)
		dst = append(dst, `,"embedding":`...)
		if q.Base64 {
			dst = appendVectorBase64(dst, v)
		} else {
			dst = appendVector(dst, v)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, `],"model":`...)
	dst = jsonscan.AppendString(dst, a.Model)
	dst = append(dst, `,"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, a.Usage.Input, 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, a.Usage.Input, 10)
	return append(dst, "}}"...)
}

func appendVector(dst []byte, v []float32) []byte {
	dst = append(dst, '[')
	for i, f := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		if f != f || f > math.MaxFloat32 || f < -math.MaxFloat32 {
			dst = append(dst, '0') // JSON has no word for it
			continue
		}
		dst = strconv.AppendFloat(dst, float64(f), 'g', -1, 32)
	}
	return append(dst, ']')
}

func appendVectorBase64(dst []byte, v []float32) []byte {
	raw := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b := math.Float32bits(f)
		raw = append(raw, byte(b&0xff), byte(b>>8&0xff), byte(b>>16&0xff), byte(b>>24))
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, raw)
	return append(dst, '"')
}

// EncodeEmbed appends a request for embeddings.
func (Embeddings) EncodeEmbed(dst []byte, q *llm.EmbedRequest, t *wire.Target) ([]byte, error) {
	dst = append(dst, `{"model":`...)
	dst = jsonscan.AppendString(dst, t.Model)
	dst = append(dst, `,"input":`...)
	dst = appendInput(dst, q)
	may := func(name string) bool {
		if slices.Contains(t.Quirks.Refuses, name) {
			q.Dropped.Add(name)
			return false
		}
		return true
	}
	if q.Dimensions > 0 && may("dimensions") {
		dst = append(dst, `,"dimensions":`...)
		dst = strconv.AppendInt(dst, q.Dimensions, 10)
	}
	// Base64 is asked for where the client did: it is cheaper, but not every server has it. Either is understood.
	if q.Base64 && !slices.Contains(t.Quirks.Refuses, "encoding_format") {
		dst = append(dst, `,"encoding_format":"base64"`...)
	}
	if q.User != "" && may("user") {
		dst = append(dst, `,"user":`...)
		dst = jsonscan.AppendString(dst, q.User)
	}
	if q.Task != "" {
		q.Dropped.Add("task_type")
	}
	if q.Title != "" {
		q.Dropped.Add("title")
	}
	return append(dst, '}'), nil
}

func appendInput(dst []byte, q *llm.EmbedRequest) []byte {
	if len(q.Inputs) == 1 && len(q.Tokens) == 0 {
		return jsonscan.AppendString(dst, q.Inputs[0])
	}
	dst = append(dst, '[')
	for _, text := range q.Inputs {
		dst = jsonscan.AppendString(appendComma(dst), text)
	}
	for _, ids := range q.Tokens {
		dst = append(appendComma(dst), '[')
		for _, id := range ids {
			dst = strconv.AppendInt(appendComma(dst), id, 10)
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

var errNoVectors = errors.New("the upstream's answer lacks an embedding")

// DecodeEmbedReply reads a list of embeddings that Judge found good: numbers, or base64.
func (Embeddings) DecodeEmbedReply(body []byte) (*llm.EmbedReply, error) {
	a := &llm.EmbedReply{}
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "model":
			a.Model, _ = r.Text()
		case "usage":
			a.Usage = openaiwords.ReadUsage(&r)
		case "data":
			if !r.Array() {
				continue
			}
			for at := int64(0); r.Elem(); at++ {
				if !readVector(&r, a, at) {
					return nil, errNoVectors
				}
			}
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return nil, r.Err()
	}
	if len(a.Vectors) == 0 || slices.ContainsFunc(a.Vectors, func(v []float32) bool { return v == nil }) {
		return nil, errNoVectors
	}
	return a, nil
}

// readVector reads one element of data, which stands at place at unless it says another.
func readVector(r *jsonscan.Reader, a *llm.EmbedReply, at int64) bool {
	var vector []float32
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "index":
			if n, ok := r.Int(); ok {
				at = n
			}
		case "embedding":
			vector = readNumbers(r)
		default:
			r.Skip()
		}
	}
	if vector == nil || at < 0 || at > maxVectors {
		return false
	}
	for int64(len(a.Vectors)) <= at {
		a.Vectors = append(a.Vectors, nil)
	}
	a.Vectors[at] = vector
	return true
}

// maxVectors bounds what an index can make us allocate.
const maxVectors = 1 << 16

// readNumbers reads numbers, or little-endian float32 in base64; nil if it is neither.
func readNumbers(r *jsonscan.Reader) []float32 {
	if r.Kind() == jsonscan.String {
		text, _ := r.Literal()
		raw := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Decode(raw, text)
		if err != nil || n%4 != 0 || n == 0 {
			return nil
		}
		out := make([]float32, n/4)
		for i := range out {
			b := (*[4]byte)(raw[4*i:])
			out[i] = math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
		}
		return out
	}
	if !r.Array() {
		return nil
	}
	var out []float32
	for r.Elem() {
		f, err := strconv.ParseFloat(string(r.Raw()), 32)
		if err != nil {
			return nil
		}
		out = append(out, float32(f))
	}
	return out
}
