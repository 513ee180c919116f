package admin

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// RenderFaults writes a reply about drills as `evergate drill` prints it: a list of them, or the report of one.
func RenderFaults(w io.Writer, reply []byte, now time.Time) error {
	var all struct {
		Faults []Fault `json:"faults"`
		FaultReport
	}
	if err := json.Unmarshal(reply, &all); err != nil || all.Faults == nil && all.ID == "" {
		return fmt.Errorf("the answer is none about drills: %.200q; is it an Evergate gateway?", reply)
	}
	s := &status{now: now}
	if all.Faults != nil {
		s.listed(all.Faults)
	} else {
		s.reported(&all.FaultReport)
	}
	_, err := io.WriteString(w, s.out.String())
	return err
}

func (s *status) listed(all []Fault) {
	if len(all) == 0 {
		s.out.WriteString("there are no drills\n")
		return
	}
	rows := [][]cell{heads("DRILL", "FAULT", "STATE", "MET BY", "RESCUED", "FAILED", "REASON")}
	for i := range all {
		f := &all[i]
		rows = append(rows, []cell{
			{text: f.ID},
			{text: f.what()},
			{text: s.stands(f)},
			{text: count(int(f.Counts.Injected), "attempt")},
			{text: strconv.FormatInt(f.Counts.Rescued, 10)},
			{text: strconv.FormatInt(f.Counts.Failed, 10)},
			{text: f.Reason},
		})
	}
	s.table("", rows)
}

// stands says how a drill stands.
func (s *status) stands(f *Fault) string {
	if f.Ended == nil {
		return "ends in " + left(f.Until, s.now)
	}
	how := map[string]string{"stopped": "stopped", "time": "time was up", "budget": "budget was spent", "user_errors": "too many errors"}[f.Ended.Why]
	if how == "" {
		how = "ended"
	}
	return how + " " + s.ago(f.Ended.At)
}

func (s *status) reported(r *FaultReport) {
	n := func(v int64) cell { return cell{text: strconv.FormatInt(v, 10)} }
	s.table("", [][]cell{
		{{text: "drill"}, {text: r.ID}},
		{{text: "fault"}, {text: r.what()}},
		{{text: "reason"}, {text: r.Reason}},
		{{text: "by"}, {text: r.By}},
		{{text: "state"}, {text: s.stands(&r.Fault)}},
	})
	s.out.WriteByte('\n')
	rows := [][]cell{heads("SEEN BY", "INJECTED", "REQUESTS", "ANSWERED", "RESCUED", "FAILED", "LEFT", "ADDED", "BLOCKS")}
	add := func(who string, c *FaultReport, here bool) {
		v := c.Counts
		if here {
			v = c.Here
		}
		rows = append(rows, []cell{{text: who}, n(v.Injected), n(v.Requests), n(v.Answered), n(v.Rescued), n(v.Failed), n(v.Left), {text: latency(v.AddedMS)}, n(v.Blocks)})
	}
	add(count(r.Instances, "instance"), r, false)
	if r.Instances > 1 {
		add("this one", r, true)
	}
	s.table("", rows)
	if len(r.Guards) > 0 {
		s.out.WriteByte('\n')
		rows = [][]cell{heads("GUARD", "TIMES")}
		for _, g := range r.Guards {
			rows = append(rows, []cell{{text: g.Transition}, n(g.Count)})
		}
		s.table("", rows)
	}
}
