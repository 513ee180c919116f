package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

var errNoKeys = errors.New("the reply is not that of an admin API for keys; does --url name an evergate gateway?")

// RenderNewKey writes a key that was just made, from the reply of the admin API: the key alone to out, so that a script can take it, and what there is to
// say of it to beside.
func RenderNewKey(out, beside io.Writer, reply []byte) error {
	var k NewKey
	if err := json.Unmarshal(reply, &k); err != nil || k.Value == "" {
		return errNoKeys
	}
	said := fmt.Sprintf("The key %s (%s) is below. It is shown this once: nothing keeps it.\n", k.Name, k.ID)
	if !time.Time(k.OldUntil).IsZero() {
		said += fmt.Sprintf("The key before it is good until %s.\n", time.Time(k.OldUntil).Format(time.RFC3339))
	}
	if _, err := io.WriteString(beside, said); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, k.Value)
	return err
}

// RenderKeys writes a list of keys, or one, from the reply of the admin API.
func RenderKeys(out io.Writer, reply []byte, now time.Time) error {
	var list struct {
		Asks *bool  `json:"asks_for_keys"`
		Keys []Key  `json:"keys"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(reply, &list); err != nil || list.Asks == nil && list.Name == "" {
		return errNoKeys
	}
	if list.Asks == nil {
		var k Key
		if err := json.Unmarshal(reply, &k); err != nil {
			return errNoKeys
		}
		return renderKey(out, &k)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "NAME\tID\tSTATE\tTEAM\tOWNER\tMODELS\tEXPIRES\tLAST USED") // Flush says what went wrong
	for i := range list.Keys {
		k := &list.Keys[i]
		models := strings.Join(k.Models, ",")
		if models == "" {
			models = "all"
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", shownText(k.Name), orDash(k.ID), k.State, orDash(k.Team), orDash(k.Owner), shownText(models), day(k.ExpiresAt), ago(k.LastUsedAt, now))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !*list.Asks {
		_, err := fmt.Fprintln(out, "auth.mode is none: nobody is asked for a key.")
		return err
	}
	return nil
}

func renderKey(out io.Writer, k *Key) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" && value != none {
			_, _ = fmt.Fprintf(t, "%s\t%s\n", name, shownText(value)) // Flush says what went wrong
		}
	}
	line("name", k.Name)
	line("id", k.ID)
	line("state", k.State+" ("+k.Source+")")
	line("owner", k.Owner)
	line("team", k.Team)
	for _, name := range slices.Sorted(maps.Keys(k.Labels)) {
		line("label "+name, k.Labels[name])
	}
	for _, l := range []struct {
		name string
		list []string
	}{{"models", k.Models}, {"providers", k.Providers}, {"policies", k.Policies}, {"routes", k.Routes}, {"sources", k.Sources}, {"guardrails", k.Guardrails}} {
		line(l.name, strings.Join(l.list, ", "))
	}
	for _, l := range []struct {
		name string
		most int64
	}{{"requests a minute", k.Limits.Requests}, {"tokens a minute", k.Limits.Tokens}, {"in flight", k.Limits.Concurrent}} {
		if l.most > 0 {
			line(l.name, strconv.FormatInt(l.most, 10))
		}
	}
	for _, b := range k.Budgets {
		var parts []string
		if b.USD > 0 {
			parts = append(parts, fmt.Sprintf("$%g", b.USD))
		}
		if b.Tokens > 0 {
			parts = append(parts, fmt.Sprintf("%d tokens", b.Tokens))
		}
		line("budget", fmt.Sprintf("%s a %s (%s), %s", strings.Join(parts, " and "), b.Per, b.Zone, b.Mode))
	}
	for _, s := range k.Spent {
		line("spent", fmt.Sprintf("$%g and %d tokens since %s", s.USD, s.Tokens, day(s.From)))
	}
	line("expires", day(k.ExpiresAt))
	if k.Source == "store" {
		line("created", day(k.CreatedAt)+" by "+k.CreatedBy)
		line("changed", day(k.ChangedAt)+" by "+k.ChangedBy)
	}
	line("reason", k.Reason)
	line("revoked", day(k.RevokedAt))
	line("old key until", day(k.OldUntil))
	line("last used", day(k.LastUsedAt))
	return t.Flush()
}

// shownText is a text of somebody's in one line of a terminal.
func shownText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

func orDash(s string) string {
	if s == "" {
		return none
	}
	return shownText(s)
}

func day(t Time) string {
	if time.Time(t).IsZero() {
		return none
	}
	return time.Time(t).UTC().Format("2006-01-02 15:04:05Z")
}

func ago(t Time, now time.Time) string {
	if time.Time(t).IsZero() {
		return none
	}
	return now.Sub(time.Time(t)).Truncate(time.Second).String() + " ago"
}
