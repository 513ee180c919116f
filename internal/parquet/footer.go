package parquet

// The numbers by which the format knows things.
const (
	encodingPlain, encodingRLE                         = 0, 3
	codecGzip                                          = 2
	physicalBool, physicalInt64, physicalBytes         = 0, 2, 6
	required, optional                                 = 0, 1
	convertedText, convertedDecimal, convertedInstant  = 0, 5, 10
	logicalText, logicalDecimal, logicalInstant, micro = 1, 5, 8, 2
	nanoDigits, nanoPlaces                             = 18, 9
)

func (k Kind) physical() int32 {
	switch k {
	case Text:
		return physicalBytes
	case Bool:
		return physicalBool
	case Int, Instant, Nano:
	}
	return physicalInt64
}

// footer is what the file says of itself: columns, and where their chunks are.
func (w *Writer) footer() []byte {
	var t thrift
	t.open()
	t.i32(1, 2) // the version
	t.list(2, typeStruct, len(w.columns)+1)
	t.open()
	t.text(4, "table")
	t.i32(5, int32(len(w.columns))) //nolint:gosec // a few
	t.end()
	for i := range w.columns {
		w.columns[i].describe(&t)
	}
	rows := int64(0)
	for i := range w.groups {
		rows += int64(w.groups[i].rows)
	}
	t.i64(3, rows)
	t.list(4, typeStruct, len(w.groups))
	for i := range w.groups {
		w.describe(&t, &w.groups[i])
	}
	t.text(6, "evergate")
	t.end()
	return t.b
}

// describe writes the column's place in the schema, in the old words and in the new.
func (c *column) describe(t *thrift) {
	t.open()
	t.i32(1, c.Kind.physical())
	if c.Optional {
		t.i32(3, optional)
	} else {
		t.i32(3, required)
	}
	t.text(4, c.Name)
	switch c.Kind {
	case Text:
		t.i32(6, convertedText)
		t.in(10)
		t.in(logicalText)
		t.end()
		t.end()
	case Instant:
		t.i32(6, convertedInstant)
		t.in(10)
		t.in(logicalInstant)
		t.yes(1) // in UTC
		t.in(2)
		t.in(micro)
		t.end()
		t.end()
		t.end()
		t.end()
	case Nano:
		t.i32(6, convertedDecimal)
		t.i32(7, nanoPlaces)
		t.i32(8, nanoDigits)
		t.in(10)
		t.in(logicalDecimal)
		t.i32(1, nanoPlaces)
		t.i32(2, nanoDigits)
		t.end()
		t.end()
	case Int, Bool:
	}
	t.end()
}

func (w *Writer) describe(t *thrift, g *group) {
	t.open()
	t.list(1, typeStruct, len(g.chunks))
	size := int64(0)
	for i := range g.chunks {
		c, of := &g.chunks[i], &w.columns[i]
		size += c.plain
		t.open()
		t.i64(2, c.at)
		t.in(3)
		t.i32(1, of.Kind.physical())
		t.list(2, typeI32, 2)
		t.b = append(t.b, encodingPlain<<1, encodingRLE<<1)
		t.list(3, typeBinary, 1)
		t.element(of.Name)
		t.i32(4, codecGzip)
		t.i64(5, int64(g.rows))
		t.i64(6, c.plain)
		t.i64(7, c.packed)
		t.i64(9, c.at)
		t.end()
		t.end()
	}
	t.i64(2, size)
	t.i64(3, int64(g.rows))
	t.end()
}
