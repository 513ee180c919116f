package ingress

import (
	"bytes"
	"context"
	"io"
	"mime"
	"mime/multipart"

	"evergate/internal/guardrail"
)

// guardForm has the texts of a form judged: all fields but files, of which nobody knows what they are, and the model's name. Where anything
// changed, the form is written anew with the same boundary.
func guardForm(ctx context.Context, w *guardrail.Watch, body []byte, contentType string) ([]byte, error) {
	fields, texts, at := formFields(body, contentType)
	if len(texts) == 0 {
		return body, nil
	}
	was := make([][]byte, len(texts))
	for i := range texts {
		was[i] = texts[i].Value
	}
	if err := w.Words(ctx, texts); err != nil {
		return nil, err
	}
	changed := false
	for i := range texts {
		changed = changed || !bytes.Equal(texts[i].Value, was[i])
		fields[at[i]].value = texts[i].Value
	}
	if !changed {
		return body, nil
	}
	return writeForm(fields, contentType), nil
}

// formField is one field of a form.
type formField struct {
	head  map[string][]string
	value []byte
}

// formFields reads a form, and says which of its fields are texts; at are their indices. The dialect has read it before, so that it is known to be whole.
func formFields(body []byte, contentType string) (fields []formField, texts []guardrail.Text, at []int) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, nil, nil
	}
	r := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		p, err := r.NextRawPart()
		if err != nil {
			return fields, texts, at
		}
		value, err := io.ReadAll(p)
		if err != nil {
			return nil, nil, nil
		}
		if p.FileName() == "" && p.FormName() != "model" {
			texts, at = append(texts, guardrail.Text{Kind: guardrail.Words, Value: value}), append(at, len(fields))
		}
		fields = append(fields, formField{p.Header, value})
	}
}

func writeForm(fields []formField, contentType string) []byte {
	_, params, _ := mime.ParseMediaType(contentType) // it was read before
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	_ = w.SetBoundary(params["boundary"])
	for _, f := range fields {
		p, err := w.CreatePart(f.head)
		if err != nil {
			break // a buffer never fails
		}
		_, _ = p.Write(f.value)
	}
	_ = w.Close()
	return out.Bytes()
}
