package postgres

import (
	"fmt"
	"strings"
)

// LockOf is the number of the advisory lock that a schema's migration takes.
var LockOf = lockOf

// Versions are those of all migrations, in their order.
func Versions() string {
	all, err := ordered(migrations)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, m := range all {
		out = append(out, fmt.Sprint(m.version))
	}
	return strings.Join(out, " ")
}
