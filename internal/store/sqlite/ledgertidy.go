package sqlite

// What small blocks are laid together for: a quiet gateway writes a row or two at a time, and each block has a price of its own.
const (
	tidyBlocks = 64 // the newest, that are looked at
	tidyFewest = 4  // of them, for which it is worth it
)

// tidy lays small blocks that follow each other together.
func (w *writing) tidy() error {
	type small struct {
		id    int64
		rows  int
		bytes int
	}
	var some []small
	if err := w.each(`SELECT id, rows, bytes FROM blocks ORDER BY id DESC LIMIT ?`, []any{tidyBlocks}, func(scan func(...any) error) error {
		var s small
		err := scan(&s.id, &s.rows, &s.bytes)
		some = append(some, s)
		return err
	}); err != nil {
		return err
	}
	for len(some) > 0 {
		n, rows, bytes := 0, 0, 0
		for n < len(some) && rows+some[n].rows <= blockRows && bytes+some[n].bytes <= blockBytes {
			rows, bytes = rows+some[n].rows, bytes+some[n].bytes
			n++
		}
		if n >= tidyFewest {
			ids := make([]int64, n)
			for i := range ids {
				ids[i] = some[i].id
			}
			if err := w.join(ids); err != nil {
				return err
			}
		}
		some = some[max(n, 1):]
	}
	return nil
}

// join makes one block of several.
func (w *writing) join(ids []int64) error {
	var all []laid
	for _, id := range ids {
		rows, err := w.rowsOf(id)
		if err != nil {
			return err
		}
		all = append(all, rows...)
		if err := w.remove(id); err != nil {
			return err
		}
	}
	for _, b := range seal(newestFirst(all)) {
		if err := w.insert(b); err != nil {
			return err
		}
	}
	return nil
}
