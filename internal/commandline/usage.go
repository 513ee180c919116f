package commandline

import (
	"io"
	"strings"
)

// The help's lines are at most width long; what flags do stands in a column of its own.
const (
	width  = 80
	column = 29
)

// printUsage writes the help of a command, or of the program where top is nil.
func (p *Program) printUsage(c, top *command, commands []*command) error {
	var b strings.Builder
	if top == nil {
		b.WriteString("Usage: " + p.Name + " <command> [flags]\n")
	} else {
		b.WriteString("Usage: " + p.Name + " " + synopsis(c) + "\n")
	}
	b.WriteString("\n" + wrap(c.help, "", width))
	writeFields(&b, "Arguments:", c.fields, true)
	writeFields(&b, "Flags:", c.fields, false)
	if top != nil {
		writeFields(&b, "Flags of every command:", top.fields, false)
		_, err := io.WriteString(p.Out, b.String())
		return err
	}
	b.WriteString("\nCommands:\n")
	for _, c := range commands {
		b.WriteString("  " + synopsis(c) + "\n" + wrap(c.help, "    ", width) + "\n")
	}
	b.WriteString("Run \"" + p.Name + " <command> --help\" for more about a command.\n")
	_, err := io.WriteString(p.Out, b.String())
	return err
}

// synopsis is a command with its arguments.
func synopsis(c *command) string {
	words := []string{c.name}
	for _, f := range c.fields {
		switch {
		case f.arg && f.required:
			words = append(words, f.String())
		case f.arg:
			words = append(words, "["+f.String()+"]")
		}
	}
	return strings.Join(append(words, "[flags]"), " ")
}

// writeFields lists the arguments, or the flags, of some fields; nothing if there are none.
func writeFields(b *strings.Builder, title string, fields []*field, args bool) {
	for _, f := range fields {
		if f.arg != args {
			continue
		}
		if title != "" {
			b.WriteString("\n" + title + "\n")
			title = ""
		}
		left := f.left()
		text := wrap(f.text(), strings.Repeat(" ", column), width)
		if len(left) <= column-2 { // both on one line
			text = left + text[len(left):]
		} else {
			text = left + "\n" + text
		}
		b.WriteString(text)
	}
}

// left is what is typed: -c, --config=FILE.
func (f *field) left() string {
	if f.arg {
		return "  " + f.String()
	}
	out := "      "
	if f.short != "" {
		out = "  -" + f.short + ", "
	}
	switch out += f.String(); {
	case f.isBool:
		return out
	case f.def != "":
		return out + "=" + f.def
	}
	return out + "=" + f.shown
}

// text is the help with the variable.
func (f *field) text() string {
	if f.env == "" {
		return f.help
	}
	return strings.TrimSuffix(f.help, ".") + " ($" + f.env + ")."
}

// wrap breaks a text into lines, each with an indent and an end.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line) > len(indent) && len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if len(line) > len(indent) {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}
