package config

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"evergate/internal/alert"
	"evergate/internal/provider"
)

// Alert is where alerts go. Its URL may be a secret as a whole, and is shown nowhere.
type Alert struct {
	Name   string
	URL    provider.Secret
	Secret provider.Secret // empty: messages are not signed
	Format alert.Format
	On     []alert.Event // empty: all
	For    time.Duration
	// Private lets its host's name lead to private addresses.
	Private bool
}

// maxAlerts bounds the receivers: each has a queue and a goroutine.
const maxAlerts = 16

type alertFile struct {
	name   given[string]
	url    given[secretText]
	secret given[secretText]
	format given[alert.Format]
	on     given[[]given[alert.Event]]
	wait   given[time.Duration]

	private given[bool]
}

func alertShape() shape[alertFile] {
	var events []word[alert.Event]
	for _, e := range alert.Events() {
		events = append(events, say(string(e), e))
	}
	return object("alert", "A receiver of alerts.", []key[alertFile]{
		field("name", "Shown in logs, metrics and the admin API.", text("a name"), func(f *alertFile) *given[string] { return &f.name }),
		field("url", "Where messages are posted to; keep it in an environment variable where it is a secret.", secret("a URL"), func(f *alertFile) *given[secretText] { return &f.url }),
		field("secret", "Signs the messages; without one they are not signed.", secret("a secret"), func(f *alertFile) *given[secretText] { return &f.secret }),
		field("format", "json is documented; slack is a message for Slack and what takes the same.", choice(say("json", alert.JSON), say("slack", alert.Slack)), func(f *alertFile) *given[alert.Format] { return &f.format }),
		field("on", "The events that it wants; none: all.", list("events such as breaker_opened", choice(events...)), func(f *alertFile) *given[[]given[alert.Event]] { return &f.on }),
		field("for", "How long something must be the matter before it is told.", duration(0), func(f *alertFile) *given[time.Duration] { return &f.wait }),
		field("private", "Whether the host's name may lead to a private address. Without it: if the name itself says so.", boolean(), func(f *alertFile) *given[bool] { return &f.private }),
	})
}

// alerts are the receivers.
func (b *builder) alerts() []Alert {
	var out []Alert
	names := map[string]place{}
	f := &b.file.alerts
	if len(f.v) > maxAlerts {
		b.problem(f.at, "", "has %d receivers, which is more than %d", len(f.v), maxAlerts)
	}
	for _, a := range f.v {
		b.named(a.v.name, a.at, names)
		b.alertURL(a)
		if s := a.v.secret; s.set && s.v.value == "" {
			b.problem(s.at, "", "is empty, so that nothing would be signed; set the variable, or remove the secret")
		}
		alert := Alert{Name: a.v.name.v, URL: a.v.url.v.value, Secret: a.v.secret.v.value, Format: a.v.format.v, For: a.v.wait.v, Private: a.v.private.v}
		for _, e := range a.v.on.v {
			alert.On = append(alert.On, e.v)
		}
		out = append(out, alert)
	}
	return out
}

// alertURL says what is wrong with a receiver's URL without a word of it.
func (b *builder) alertURL(a given[alertFile]) {
	v := a.v.url
	switch {
	case v.wrong:
		return
	case v.absent():
		b.problem(a.at, "", "has no url; add url: ${…}")
		return
	case v.v.value == "":
		b.problem(v.at, "", "is empty; set the variable, or remove the receiver")
		return
	}
	u, err := url.Parse(v.v.value.Reveal())
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		b.problem(v.at, "", "is not a URL; it must begin with https:// and have a host")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		b.warn(v.at, "begins with http://, so that everybody on the way can read the messages and the URL; use https:// where you can")
	}
}

// percentage is a share that is written with its sign, such as 99.9%, as a number from 0 to 1; neither is one.
func percentage() shape[float64] {
	const want = "a percentage such as 99.9%"
	schema := orFromEnv(map[string]any{"type": "string", "pattern": `^[0-9]+(\.[0-9]+)?%$`})
	return single(want, schema, func(s string) (float64, string, string) {
		number, signed := strings.CutSuffix(s, "%")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(v) || strings.ContainsAny(number, "eExX_+") {
			return 0, "must be " + want, ""
		}
		switch {
		case !signed && v > 1 && v < 100:
			return 0, "has no sign; it must be " + want, s + "%"
		case !signed:
			return 0, "must be " + want, ""
		case v <= 0 || v >= 100:
			return 0, "must be more than 0% and less than 100%", ""
		}
		return v / 100, "", ""
	})
}
