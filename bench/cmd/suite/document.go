package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// document is the result of a run.
type document struct {
	Tables []table `json:"tables"`
}

type table struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  string `json:"unit"`
	Rows  []row  `json:"rows"`
}

func (d *document) add(m measurement, rows []row) {
	d.Tables = append(d.Tables, table{m.name, m.title, m.unit, rows})
}

func (d *document) save(file string) error {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

// markdown writes one table for all measurements. Ratios are to the first row of the same measurement, in the same
// round: median (min–max).
func (d *document) markdown(s *settings) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rounds, %s, %d cores, servers on core %q, load on core %q\n\n", s.rounds, runtime.Version(), runtime.NumCPU(), s.pinServers, s.pinLoad)
	b.WriteString("| what | target | median | ratio, median (min–max) | goal | more |\n| --- | --- | ---: | ---: | --- | --- |\n")
	for _, t := range d.Tables {
		for i, r := range t.Rows {
			title, ratio := "", ""
			if i == 0 {
				title = t.Title
			}
			if r.Ratio != nil {
				ratio = fmt.Sprintf("%.2f (%.2f–%.2f)", r.Ratio.Median, r.Ratio.Min, r.Ratio.Max)
			}
			note := r.Note
			if r.Errors > 0 {
				note += fmt.Sprintf("; **%d ERRORS**", r.Errors)
			}
			fmt.Fprintf(&b, "| %s | %s | %.2f %s | %s | %s | %s |\n", title, r.Target, r.Value, t.Unit, ratio, r.Goal, note)
		}
	}
	return b.String()
}
