package replies

// Draft is an answer under way that is to be kept. The zero value is given up. It is for one goroutine.
type Draft struct {
	of    *Cache
	body  []byte
	limit int64
	took  int64 // of what all drafts may take
}

// Draft begins to write an answer down.
func (c *Cache) Draft() Draft {
	l := c.limits.Load()
	if l == nil || l.Bytes <= 0 {
		return Draft{}
	}
	return Draft{of: c, limit: l.Entry}
}

// Expect makes room for a body of so many bytes; it may be called before the first Write.
func (d *Draft) Expect(n int) {
	if d.of != nil && int64(n) > d.limit {
		d.Drop()
	}
	if d.of != nil && n > 0 && d.body == nil {
		d.grow(n)
	}
}

// Write adds bytes to the body. An answer that grows too long, or for which there is no room beside the other ones under way, is given up.
func (d *Draft) Write(p []byte) {
	if d.of == nil {
		return
	}
	need := len(d.body) + len(p)
	if int64(need) > d.limit {
		d.Drop()
		return
	}
	if need > cap(d.body) {
		d.grow(max(need, min(2*cap(d.body), int(d.limit))))
	}
	if d.of != nil {
		d.body = append(d.body, p...)
	}
}

// grow makes room for n bytes in all, or gives up.
func (d *Draft) grow(n int) {
	l := d.of.limits.Load()
	more := int64(n) - d.took
	if d.of.drafts.Add(more) > l.Bytes/draftable {
		d.of.drafts.Add(-more)
		d.Drop()
		return
	}
	d.took += more
	next := make([]byte, len(d.body), n)
	copy(next, d.body)
	d.body = next
}

// Drop gives the answer up.
func (d *Draft) Drop() {
	if d.of != nil {
		d.of.drafts.Add(-d.took)
	}
	*d = Draft{}
}

// Body takes the body away, and ends the draft; nil: it was given up, or there was none.
func (d *Draft) Body() []byte {
	body := d.body
	d.Drop()
	if cap(body)-len(body) > len(body)/8+64 { // it is kept for long
		body = append(make([]byte, 0, len(body)), body...)
	}
	return body
}
