package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"evergate/internal/sim"
)

// grid is rows of text in columns: numbers to the right, the rest to the left. The first row is the head.
type grid [][]string

func (g grid) write(b *strings.Builder) {
	widths := make([]int, len(g[0]))
	right := make([]bool, len(g[0]))
	for c := range widths {
		right[c] = len(g) > 1
		for i, row := range g {
			widths[c] = max(widths[c], utf8.RuneCountInString(row[c]))
			if i > 0 && !numeric(row[c]) {
				right[c] = false
			}
		}
	}
	for _, row := range g {
		line := ""
		for c, cell := range row {
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell))
			if right[c] {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString("\n")
}

// numeric says whether a cell is a number, with its unit perhaps, or empty.
func numeric(cell string) bool {
	cell = strings.TrimSuffix(cell, " %")
	return cell == "" || cell[0] >= '0' && cell[0] <= '9' && !strings.Contains(cell, " ")
}

// number is a whole number with its thousands apart.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// percent has as many digits as it takes to tell it from 100 %.
func percent(share float64) string {
	if share > 0.999 && share < 1 {
		return fmt.Sprintf("%.4f %%", share*100)
	}
	return fmt.Sprintf("%.2f %%", share*100)
}

// span is a duration in about three digits.
func span(m sim.Milliseconds) string {
	d := m.Duration()
	switch {
	case d == 0:
		return "0"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(m))
	case d < time.Second:
		return fmt.Sprintf("%.0fms", float64(m))
	case d < time.Minute:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(m)/1000), ".0") + "s"
	}
	return plain(d.Round(time.Second))
}

// clock is a time since the beginning, to the tenth of a second.
func clock(m sim.Milliseconds) string { return plain(m.Duration().Round(100 * time.Millisecond)) }

// plain is the way a person writes a duration: 1h instead of 1h0m0s.
func plain(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
