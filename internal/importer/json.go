package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The bounds of a source in JSON, as a configuration in YAML has them.
const (
	maxSource = 256 << 10 // bytes
	maxDepth  = 64        // mappings and lists within each other
)

// readJSON reads a source token by token, so that each value knows its line.
func readJSON(name string, data []byte) (*node, error) {
	if len(data) > maxSource {
		return nil, fmt.Errorf("%s is larger than 256 KiB: that is no configuration", name)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	r := jsonReader{name: name, data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.dec.UseNumber()
	root, err := r.value("", 0)
	if err != nil {
		return nil, r.mistake(err)
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, r.mistake(errors.New("something follows the end of the configuration"))
	}
	return root, nil
}

type jsonReader struct {
	name string
	data []byte
	dec  *json.Decoder
	// line and column of the byte at offset.
	offset, line, column int
}

// place moves on to where the decoder is.
func (r *jsonReader) place() (line, column int) {
	end := min(int(r.dec.InputOffset()), len(r.data))
	for ; r.offset < end; r.offset++ {
		if r.column++; r.data[r.offset] == '\n' {
			r.line, r.column = r.line+1, 0
		}
	}
	return r.line, max(1, r.column)
}

func (r *jsonReader) mistake(err error) error {
	line, column := r.place()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends within the configuration")
	}
	return fmt.Errorf("%s:%d:%d: JSON: %w", r.name, line, column, err)
}

func (r *jsonReader) value(path string, depth int) (*node, error) {
	t, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	out := &node{path: path, kind: scalarNode, typed: true}
	out.line, out.col = r.place()
	switch v := t.(type) {
	case nil:
		out.kind = nullNode
	case string:
		out.text, out.typed = v, false
	case json.Number:
		out.text = v.String()
	case bool:
		out.text = fmt.Sprint(v)
	case json.Delim:
		if depth >= maxDepth {
			return nil, fmt.Errorf("mappings and lists are nested deeper than %d", maxDepth)
		}
		if v == '[' {
			out.kind = listNode
		} else {
			out.kind = mappingNode
		}
		return out, r.inside(out, depth)
	}
	return out, nil
}

// inside reads a list or a mapping to its end.
func (r *jsonReader) inside(out *node, depth int) error {
	places := map[string]int{}
	for r.dec.More() {
		if out.kind == listNode {
			child, err := r.value(fmt.Sprintf("%s[%d]", out.path, len(out.items)), depth+1)
			if err != nil {
				return err
			}
			out.items = append(out.items, child)
			continue
		}
		t, err := r.dec.Token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return errors.New("a key must be a string")
		}
		line, column := r.place()
		child, err := r.value(join(out.path, key), depth+1)
		if err != nil {
			return err
		}
		child.line, child.col = line, column
		out.place(places, key, child)
	}
	_, err := r.dec.Token()
	return err
}
