package browser

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// forgive takes notes that match out of account, those to come too.
func (p *page) forgive(pattern string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgiven = append(p.forgiven, regexp.MustCompile(pattern))
}

// notes are those that are not forgiven.
func (p *page) notes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var left []string
notes:
	for _, note := range p.noted {
		for _, pattern := range p.forgiven {
			if pattern.MatchString(note) {
				continue notes
			}
		}
		left = append(left, note)
	}
	return left
}

// everything are all notes, the forgiven ones too.
func (p *page) everything() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.noted)
}

// sent are the requests so far, as "POST http://…".
func (p *page) sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// received is how many bytes came, as they were sent.
func (p *page) received() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.weight)
}

// hear is told every event of the tab; it must not block.
func (p *page) hear(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	note := func(format string, args ...any) { p.noted = append(p.noted, fmt.Sprintf(format, args...)) }
	switch e := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		switch e.Type {
		case runtime.ConsoleAPICalledTypeError, runtime.ConsoleAPICalledTypeWarning, runtime.ConsoleAPICalledTypeAssert:
			note("console %s: %s", e.Type, spoken(e.Args))
		default: // what is said to no alarm
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		note("exception: %s", text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			note("log %s, %s: %s %s", e.Entry.Level, e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		details, _ := json.Marshal(e.Issue.Details)
		note("issue %s: %s", e.Issue.Code, details)
	case *cdppage.EventJavascriptDialogOpening:
		note("dialog %s: %s", e.Type, e.Message)
		go func() {
			_, _ = try(p, cdppage.HandleJavaScriptDialog, cdppage.HandleJavaScriptDialogParams{Accept: false})
		}()
	case *network.EventRequestWillBeSent:
		line := e.Request.Method + " " + e.Request.URL
		p.asked[e.RequestID] = line
		p.requests = append(p.requests, line)
		if foreign(e.DocumentURL, e.Request.URL) {
			note("request to another origin: %s", line)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			note("reply %d: %s", e.Response.Status, p.asked[e.RequestID])
		}
	case *network.EventLoadingFailed:
		if !e.Canceled {
			note("request failed, %s: %s", e.ErrorText, p.asked[e.RequestID])
		}
	case *network.EventLoadingFinished:
		p.weight += e.EncodedDataLength
	}
}

func spoken(args []*runtime.RemoteObject) string {
	var words []string
	for _, a := range args {
		if len(a.Value) > 0 {
			words = append(words, string(a.Value))
		} else {
			words = append(words, a.Description)
		}
	}
	return strings.Join(words, " ")
}

// foreign says whether a document of ours asks another origin.
func foreign(document, asked string) bool {
	from, err := url.Parse(document)
	to, err2 := url.Parse(asked)
	if err != nil || err2 != nil {
		return true
	}
	return to.Scheme != "data" && (from.Scheme != to.Scheme || from.Host != to.Host)
}
