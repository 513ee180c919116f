package postgres

import (
	"regexp"
	"strconv"
	"strings"

	"evergate/internal/ledger"
)

// clause is a condition, and how it is asked for by an index. Its first use drives a question: rows are looked at in the order of an index, at most
// ledger.MaxLooked of them; the others are conditions on what was looked at.
type clause struct {
	// on are the conditions on a row of the table t that together are the clause: each is a place where what is wanted may stand, and has an index with
	// row_id. More than one: no row is in two of them.
	on []string
	// word is one more place: the words of a request; empty: none.
	word string
}

// question is what the arguments of a statement are, while it is put together.
type question struct{ args []any }

// arg stands for an argument of a type, until the statement is there.
func (q *question) arg(value any, of string) string {
	q.args = append(q.args, value)
	return "<" + strconv.Itoa(len(q.args)-1) + ">::" + of
}

// place is where an argument stands.
var place = regexp.MustCompile(`<[0-9]+>`) //nolint:gochecknoglobals // it does not change

// whole gives a statement its arguments, those that it has.
func (q *question) whole(statement string) (string, []any) {
	var args []any
	at := map[string]string{}
	statement = place.ReplaceAllStringFunc(statement, func(mark string) string {
		if at[mark] == "" {
			i, _ := strconv.Atoi(mark[1 : len(mark)-1])
			args = append(args, q.args[i])
			at[mark] = "$" + strconv.Itoa(len(args))
		}
		return at[mark]
	})
	return statement, args
}

// between is the condition on the time.
func (q *question) between(from, below ledger.Row) string {
	return "t.row_id >= " + q.arg(oldest(from), "uuid") + " AND t.row_id < " + q.arg(newest(below), "uuid")
}

// text is a condition on a column of text.
func (q *question) text(name, value string) string {
	return "t." + name + " = " + q.arg(column(value), "text")
}

// idPrefix is how long the beginning of an id must be to be looked for by the index: what a shorter one finds may be most of the rows, and is not in
// their order.
const idPrefix = 12

// clauses are what a query wants, what most likely has the fewest rows first.
func (q *question) requests(w *ledger.RequestQuery) (all []clause) {
	add := func(wanted bool, make func() clause) {
		if wanted {
			all = append(all, make())
		}
	}
	is := func(condition string) func() clause { return func() clause { return clause{on: []string{condition}} } }
	equal := func(name, value string) {
		add(value != "", func() clause { return clause{on: []string{q.text(name, value)}} })
	}
	prefix := func() clause { return clause{on: []string{"t.request_id LIKE " + q.arg(like(w.ID), "text")}} }
	plainID := w.ID != "" && column(w.ID) == w.ID
	add(plainID && len(w.ID) >= idPrefix, prefix)
	add(w.Drill != "", func() clause { return clause{word: q.arg(wordDrill+column(w.Drill), "text")} })
	add(w.Drilled, is("t.drilled"))
	add(w.Code != "", func() clause { return clause{on: []string{q.text("code", w.Code) + " AND t.code <> ''"}} })
	add(w.Rescued, is("t.rescued"))
	add(w.Failed, is("t.failed"))
	class, exact := w.Status, w.Status >= 10
	if exact {
		class = w.Status / 100
	}
	byIndex := class >= 4
	add(byIndex, func() clause {
		return clause{on: []string{"t.status / 100 = " + q.arg(class, "int") + " AND t.status >= 400"}}
	})
	kind := w.Kind
	if kind == "" {
		kind = ledger.KindRequest
	}
	aside := kind != ledger.KindRequest && kind != ledger.AnyKind
	add(aside, func() clause { return clause{on: []string{q.text("kind", kind) + " AND t.kind <> 'request'"}} })
	add(w.Model != "", func() clause {
		return clause{on: []string{q.text("model", w.Model)}, word: q.arg(wordModel+column(w.Model), "text")}
	})
	add(w.Provider != "", func() clause {
		return clause{on: []string{q.text("provider", w.Provider)}, word: q.arg(wordProvider+column(w.Provider), "text")}
	})
	equal("key", w.Key)
	equal("route", w.Route)
	// What has no index of its own: it drives nothing.
	if len(all) == 0 {
		all = append(all, clause{})
	}
	add(exact, func() clause { return clause{on: []string{"t.status = " + q.arg(w.Status, "int")}} })
	add(!byIndex && !exact && w.Status != 0, func() clause { return clause{on: []string{"t.status / 100 = " + q.arg(class, "int")}} })
	add(kind == ledger.KindRequest, is("t.kind = 'request'"))
	add(plainID && len(w.ID) < idPrefix, prefix)
	return all
}

// timeline are what a query of entries wants.
func (q *question) timeline(w *ledger.TimelineQuery) (all []clause) {
	if w.RequestID != "" {
		all = append(all, clause{on: []string{q.text("request_id", w.RequestID) + " AND t.request_id <> ''"}})
	}
	if w.Provider != "" {
		all = append(all, clause{on: []string{q.text("provider", w.Provider) + " AND t.provider <> ''"}})
	}
	var kinds clause
	seen := map[string]bool{}
	for _, k := range w.Kinds {
		if !seen[k] {
			kinds.on = append(kinds.on, q.text("kind", k))
		}
		seen[k] = true
	}
	if len(kinds.on) > 0 {
		all = append(all, kinds)
	}
	if len(all) == 0 {
		all = append(all, clause{})
	}
	return all
}

// like is the pattern for what begins with a text.
func like(prefix string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(prefix) + "%"
}

// askedColumns are what conditions are on, and the body.
const askedColumns = "request_id, kind, key, route, provider, model, code, status, failed, rescued, drilled, body"

// looked are the rows that a question looks at: a select for each place where its first clause may be true, the newest first.
func looked(table, words string, drive clause, between, columns, limit string) []string {
	var out []string
	tail := " ORDER BY t.row_id DESC " + limit
	if len(drive.on) == 0 && drive.word == "" {
		return []string{"SELECT " + columns + " FROM " + table + " t WHERE " + between + tail}
	}
	for _, on := range drive.on {
		out = append(out, "SELECT "+columns+" FROM "+table+" t WHERE "+on+" AND "+between+tail)
	}
	if drive.word != "" {
		rows := "SELECT w.row_id FROM " + words + " w WHERE w.word = " + drive.word + " AND " + strings.ReplaceAll(between, "t.row_id", "w.row_id") +
			" ORDER BY w.row_id DESC " + limit
		if columns != "t.row_id" { // the order is that of the words, and OFFSET 0 has each row be fetched by its id, whatever the server thinks of reading them all
			rows = "SELECT w.row_id, t.* FROM (" + rows + ") w CROSS JOIN LATERAL (SELECT " + askedColumns + " FROM " + table + " r WHERE r.row_id = w.row_id OFFSET 0) t"
		}
		out = append(out, rows)
	}
	return out
}

// condition is a clause on a row t that was looked at.
func (c clause) condition(words string) string {
	either := c.on
	if c.word != "" {
		either = append(either[:len(either):len(either)], "EXISTS (SELECT FROM "+words+" w WHERE w.word = "+c.word+" AND w.row_id = t.row_id)")
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// page is the statement for the rows of a page: at most so many, of which ledger.MaxLooked were looked at. edge is the one for where that ended.
func page(table, words string, all []clause, between, limit string) (rows, edge string) {
	most := "LIMIT " + strconv.Itoa(ledger.MaxLooked)
	from := looked(table, words, all[0], between, "t.*", most)
	columns := "t.row_id, t.body"
	for i := range from {
		conditions := make([]string, 0, len(all))
		for _, c := range all[1:] {
			conditions = append(conditions, c.condition(words))
		}
		from[i] = "SELECT " + columns + " FROM (" + from[i] + ") t"
		if len(conditions) > 0 {
			from[i] += " WHERE " + strings.Join(conditions, " AND ")
		}
		from[i] = "(" + from[i] + " ORDER BY t.row_id DESC LIMIT " + limit + ")"
	}
	rows = "SELECT body, replace(row_id::text, '-', '') FROM (" + strings.Join(from, " UNION ALL ") + ") t ORDER BY row_id DESC LIMIT " + limit
	last := looked(table, words, all[0], between, "t.row_id", "OFFSET "+strconv.Itoa(ledger.MaxLooked-1)+" LIMIT 1")
	for i := range last {
		last[i] = "(" + last[i] + ")"
	}
	// Of several places the latest end: what is before it has not been seen in all of them.
	edge = "SELECT replace(row_id::text, '-', '') FROM (" + strings.Join(last, " UNION ALL ") + ") t ORDER BY row_id DESC LIMIT 1"
	return rows, edge
}
