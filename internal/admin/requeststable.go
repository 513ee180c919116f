package admin

import (
	"io"
	"strconv"
	"time"
)

// Listed is what the table of `evergate requests` shows of a request in the reply of GET /admin/v1/requests.
type Listed struct {
	Row          string   `json:"row"` // rows sort by the time of the request's end
	Start        Time     `json:"start"`
	Asked        string   `json:"asked"`
	Provider     string   `json:"provider"`
	Model        string   `json:"model"`
	Status       int      `json:"status"`
	Code         string   `json:"code"`
	Duration     float64  `json:"duration_ms"`
	FirstContent *float64 `json:"first_content_ms"`
	Rescued      bool     `json:"rescued"`
	Cost         *float64 `json:"cost_usd"`
	Trail        string   `json:"trail"`
	Tokens       struct {
		Input  int64 `json:"input"`
		Output int64 `json:"output"`
	} `json:"tokens"`
}

// RenderRequests writes requests as a table, in the order that they have; a table that goes on has no heads. Times are those of zone.
func RenderRequests(w io.Writer, requests []Listed, zone *time.Location, goesOn, color bool) error {
	s := &status{color: color}
	var rows [][]cell
	if !goesOn {
		rows = append(rows, heads("BEGAN", "STATUS", "MODEL", "ANSWERED BY", "TOOK", "FIRST CONTENT", "TOKENS", "COST", "TRAIL"))
	}
	for i := range requests {
		r := &requests[i]
		answered := r.Provider
		if r.Model != "" {
			answered += "/" + r.Model
		}
		rows = append(rows, []cell{
			{text: time.Time(r.Start).In(zone).Format("15:04:05.000")},
			listedStatus(r),
			{text: orNone(r.Asked)},
			{text: orNone(answered)},
			{text: latency(int64(r.Duration))},
			{text: listedFirst(r)},
			{text: strconv.FormatInt(r.Tokens.Input, 10) + "+" + strconv.FormatInt(r.Tokens.Output, 10)},
			{text: listedCost(r)},
			{text: orNone(r.Trail)},
		})
	}
	s.table("", rows)
	_, err := io.WriteString(w, s.out.String())
	return err
}

// listedStatus is the status, with the gateway's own code.
func listedStatus(r *Listed) cell {
	c := cell{text: strconv.Itoa(r.Status)}
	if r.Code != "" {
		c.text += " " + r.Code
	}
	switch {
	case r.Status >= 500 || r.Code != "" && r.Status < 400: // the latter: a stream that was cut
		c.paint = bad
	case r.Status >= 400 || r.Rescued:
		c.paint = fair
	default:
		c.paint = good
	}
	return c
}

func listedFirst(r *Listed) string {
	if r.FirstContent == nil {
		return none
	}
	return latency(max(int64(*r.FirstContent), 1))
}

func listedCost(r *Listed) string {
	if r.Cost == nil {
		return none
	}
	return "$" + strconv.FormatFloat(*r.Cost, 'g', 3, 64)
}
