package browser

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// thing is an element as assistive technology knows it: a role and a name.
type thing struct {
	p          *page
	id         cdp.BackendNodeID
	role, name string
}

// find waits for the first thing with the role whose name matches the pattern.
func (p *page) find(role, name string) thing {
	p.t.Helper()
	end := time.Now().Add(5 * time.Second)
	for {
		if found := p.all(role, name); len(found) > 0 {
			return found[0]
		}
		if time.Now().After(end) {
			p.t.Fatalf("the page has no %s named %q. It has:\n%s\nand says: %.2000s", role, name, p.outline(), p.text())
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// all gives the things with that role whose name matches, in the order of the document.
func (p *page) all(role, name string) []thing {
	p.t.Helper()
	document := call(p, runtime.Evaluate, runtime.EvaluateParams{Expression: "document"})
	return p.query(accessibility.QueryAXTreeParams{ObjectID: document.Result.ObjectID, Role: role}, name)
}

func (e thing) all(role, name string) []thing {
	e.p.t.Helper()
	return e.p.query(accessibility.QueryAXTreeParams{BackendNodeID: e.id, Role: role}, name)
}

func (p *page) query(params accessibility.QueryAXTreeParams, name string) []thing {
	pattern := regexp.MustCompile(name)
	tree, err := try(p, accessibility.QueryAXTree, params)
	if err != nil {
		return nil // what it asked about is gone
	}
	var found []thing
	for _, n := range tree.Nodes {
		e := thing{p, n.BackendDOMNodeID, said(n.Role), said(n.Name)}
		if !n.Ignored && pattern.MatchString(e.name) {
			found = append(found, e)
		}
	}
	return found
}

func said(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var text string
	_ = json.Unmarshal(v.Value, &text)
	return text
}

// outline lists what can be operated, for messages.
func (p *page) outline() string {
	var b strings.Builder
	for _, role := range []string{"heading", "navigation", "region", "link", "button", "textbox", "combobox", "checkbox", "radio", "tab", "table", "dialog", "status", "alert"} {
		for _, e := range p.all(role, "") {
			fmt.Fprintf(&b, "  %s %q\n", e.role, e.name)
		}
	}
	return b.String()
}

// on calls a JavaScript function with the element as this.
func on[T any](e thing, function string) T {
	e.p.t.Helper()
	node := call(e.p, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: e.id})
	value, err := chromedp.Run(e.p.ctx, chromedp.CallFunctionOn[T](function, func(params *runtime.CallFunctionOnParams) { params.ObjectID = node.Object.ObjectID }))
	if err != nil {
		e.p.t.Fatalf("%s %q: %v", e.role, e.name, err)
	}
	return value
}

// click clicks its middle, where something else may lie on top of it.
func (e thing) click() {
	e.p.t.Helper()
	call(e.p, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: e.id})
	quads := call(e.p, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: e.id}).Quads
	if len(quads) == 0 {
		e.p.t.Fatalf("%s %q has no place on the page", e.role, e.name)
	}
	q := quads[0]
	if err := chromedp.Do(e.p.ctx, chromedp.MouseClickXY((q[0]+q[4])/2, (q[1]+q[5])/2)); err != nil {
		e.p.t.Fatal(err)
	}
}

// fill puts text into a field, as by pasting it.
func (e thing) fill(text string) {
	e.p.t.Helper()
	on[chromedp.Void](e, `function() { this.focus(); if (this.select) this.select(); }`)
	e.p.write(text)
}

// choose takes an option of a select by its text or value.
func (e thing) choose(pattern string) {
	e.p.t.Helper()
	if !on[bool](e, `function() {
		const option = [...this.options].find(o => new RegExp(`+quoted(pattern)+`).test(o.text) || new RegExp(`+quoted(pattern)+`).test(o.value));
		if (!option) return false;
		this.value = option.value;
		this.dispatchEvent(new Event('input', {bubbles: true}));
		this.dispatchEvent(new Event('change', {bubbles: true}));
		return true;
	}`) {
		e.p.t.Fatalf("%s %q has no option %q", e.role, e.name, pattern)
	}
}

// press presses keys, as kb names them.
func (p *page) press(keys string, options ...chromedp.KeyOption) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.KeyEvent(keys, options...)); err != nil {
		p.t.Fatal(err)
	}
}

// write puts text where the cursor is.
func (p *page) write(text string) {
	p.t.Helper()
	call(p, input.InsertText, input.InsertTextParams{Text: text})
}

// focused is the element that has the keyboard.
func (p *page) focused() thing {
	p.t.Helper()
	active := call(p, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.activeElement ?? document.body"})
	no := false
	tree := call(p, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: active.Result.ObjectID, FetchRelatives: &no})
	if len(tree.Nodes) == 0 {
		return thing{p: p}
	}
	n := tree.Nodes[0]
	return thing{p, n.BackendDOMNodeID, said(n.Role), said(n.Name)}
}

// tabTo presses the Tab key until the keyboard is on the thing, and minds on the way that one can see where it is.
func (p *page) tabTo(role, name string) thing {
	p.t.Helper()
	pattern := regexp.MustCompile(name)
	var way []string
	for range 150 {
		p.press(kb.Tab)
		e := p.focused()
		way = append(way, fmt.Sprintf("%s %q", e.role, e.name))
		if e.role != "RootWebArea" && !on[bool](e, `function() {
			const s = getComputedStyle(this);
			return !this.matches(':focus-visible') || (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0) || s.boxShadow !== 'none';
		}`) {
			p.t.Errorf("%s %q has the keyboard and does not show it", e.role, e.name)
		}
		if e.role == role && pattern.MatchString(e.name) {
			return e
		}
	}
	p.t.Fatalf("the Tab key does not lead to %s %q; it leads over\n%s", role, name, strings.Join(way, "\n"))
	return thing{}
}
