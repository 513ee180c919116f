package admin

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"evergate/internal/parquet"
)

// exportForm writes rows in one form. After an error no more is written.
type exportForm interface {
	row(cells []datum) error
	// flush gives on what is whole; end, after the last row, the rest.
	flush() error
	end() error
}

// exportForms are the forms, by the word that asks for them.
func newExportForm(format string, to io.Writer, columns []exportColumn) exportForm {
	switch format {
	case "parquet":
		of := make([]parquet.Column, len(columns))
		for i := range columns {
			of[i] = columns[i].Column
		}
		return &parquetForm{parquet.NewWriter(to, of), of}
	case "json", "jsonl":
		f := &jsonForm{to: to, columns: columns, lines: format == "jsonl"}
		if !f.lines {
			f.b.WriteByte('[')
		}
		return f
	}
	f := &csvForm{csv.NewWriter(to), columns, make([]string, len(columns))}
	for i := range columns {
		f.line[i] = columns[i].Name
	}
	_ = f.to.Write(f.line) // it comes again with flush
	return f
}

// exportTypes are the content types of the forms.
var exportTypes = map[string]string{
	"csv": "text/csv; charset=utf-8", "json": "application/json", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet",
}

type parquetForm struct {
	to      *parquet.Writer
	columns []parquet.Column
}

func (f *parquetForm) row(cells []datum) error {
	for i := range cells {
		c := &cells[i]
		switch kind := f.columns[i].Kind; {
		case c.none:
			f.to.None()
		case kind == parquet.Text:
			f.to.Text(c.text)
		case kind == parquet.Int:
			f.to.Int(c.n)
		case kind == parquet.Bool:
			f.to.Bool(c.yes)
		case kind == parquet.Instant:
			f.to.Instant(c.at)
		default:
			f.to.Nano(c.n)
		}
	}
	return f.to.EndRow()
}

func (f *parquetForm) flush() error { return nil } // a group at a time is what it writes
func (f *parquetForm) end() error   { return f.to.Close() }

type csvForm struct {
	to      *csv.Writer
	columns []exportColumn
	line    []string
}

func (f *csvForm) row(cells []datum) error {
	for i := range cells {
		c := &cells[i]
		switch kind := f.columns[i].Kind; {
		case c.none:
			f.line[i] = ""
		case kind == parquet.Text:
			f.line[i] = cellText(&c.text)
		default:
			f.line[i] = string(c.plain(kind))
		}
	}
	return f.to.Write(f.line)
}

func (f *csvForm) flush() error { f.to.Flush(); return f.to.Error() }
func (f *csvForm) end() error   { return f.flush() }

// plain is a value that is no text.
func (c *datum) plain(kind parquet.Kind) []byte {
	switch kind {
	case parquet.Int:
		return strconv.AppendInt(nil, c.n, 10)
	case parquet.Bool:
		return strconv.AppendBool(nil, c.yes)
	case parquet.Instant:
		return c.at.UTC().AppendFormat(nil, "2006-01-02T15:04:05.000000Z")
	case parquet.Nano, parquet.Text:
	}
	text, _ := usd(c.n).MarshalJSON() // it never fails
	return text
}

type jsonForm struct {
	to      io.Writer
	columns []exportColumn
	lines   bool // each row is a line; else all are an array
	more    bool
	b       bytes.Buffer
}

func (f *jsonForm) row(cells []datum) error {
	if f.more && !f.lines {
		f.b.WriteByte(',')
	}
	f.more = true
	for i := range cells {
		c := &cells[i]
		f.b.WriteByte("{,"[min(i, 1)])
		f.b.WriteString(strconv.Quote(f.columns[i].Name))
		f.b.WriteByte(':')
		switch kind := f.columns[i].Kind; {
		case c.none:
			f.b.WriteString("null")
		case kind == parquet.Text:
			text, _ := json.Marshal(c.text) // a text
			f.b.Write(text)
		case kind == parquet.Instant:
			f.b.WriteByte('"')
			f.b.Write(c.plain(kind))
			f.b.WriteByte('"')
		default:
			f.b.Write(c.plain(kind))
		}
	}
	f.b.WriteString("}\n")
	return nil
}

func (f *jsonForm) flush() error {
	_, err := f.b.WriteTo(f.to)
	return err
}

func (f *jsonForm) end() error {
	if !f.lines {
		f.b.WriteString("]\n")
	}
	return f.flush()
}
