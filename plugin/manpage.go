// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/plugin/metadata"
)

// A manual page is written in the language of man(7), from the texts of --help. cobra/doc would read these texts as
// Markdown, and join the lines of their tables.

// writePage writes the page of cmd. The page has no date: equal versions have equal pages.
func writePage(w io.Writer, cmd *cobra.Command) {
	description, sections := splitLong(cmd.Long)
	fmt.Fprintf(w, ".TH \"%s\" 1 \"\" \"%s\" \"Docker hostexec\"\n", roff(strings.ToUpper(pageName(cmd))), roff("hostexec "+metadata.Version))
	fmt.Fprintf(w, ".nh\n.ad l\n") // hyphens could be of commands
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n\\fB%s\\fR %s\n", roff(fullCommand(cmd)), roff(synopsis(cmd)))
	fmt.Fprintf(w, ".SH DESCRIPTION\n")
	writeText(w, description)
	writeVerbs(w, cmd)
	writeOptions(w, cmd)
	for _, s := range sections {
		fmt.Fprintf(w, ".SH %s\n", roff(s.title))
		writeText(w, s.text)
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLES\n")
		writeText(w, cmd.Example)
	}
	fmt.Fprintf(w, ".SH SEE ALSO\n")
	for above := cmd.Parent(); above != nil && above.HasParent(); above = above.Parent() {
		fmt.Fprintf(w, ".BR %s (1),\n", roff(pageName(above)))
	}
	fmt.Fprintf(w, ".BR docker (1)\n.PP\n%s\n", roff(metadata.URL))
}

// section is a part of a help text under a title in capitals, such as EXIT STATUS.
type section struct{ title, text string }

// splitLong splits a help text into the description and the sections after it.
func splitLong(long string) (description string, sections []section) {
	title := regexp.MustCompile(`(?m)^[A-Z]+(?: [A-Z]+)+$\n`) // other commands need not wait for it
	titles := title.FindAllStringIndex(long, -1)
	end := len(long)
	for _, at := range slices.Backward(titles) {
		sections = append(sections, section{title: strings.TrimSpace(long[at[0]:at[1]]), text: long[at[1]:end]})
		end = at[0]
	}
	slices.Reverse(sections)
	return long[:end], sections
}

// synopsis returns what follows the command's name in its usage line.
func synopsis(cmd *cobra.Command) string {
	_, synopsis, ok := strings.Cut(cmd.Use, " ")
	if !ok && cmd.HasSubCommands() {
		return "[OPTIONS] [COMMAND]"
	}
	return synopsis
}

func writeVerbs(w io.Writer, cmd *cobra.Command) {
	verbs := visibleVerbs(cmd)
	if len(verbs) > 0 {
		fmt.Fprintf(w, ".SH COMMANDS\n")
	}
	for _, verb := range verbs {
		fmt.Fprintf(w, ".TP\n.BR %s (1)\n%s\n", roff(pageName(verb)), roff(verb.Short))
	}
}

func writeOptions(w io.Writer, cmd *cobra.Command) {
	flags := cmd.NonInheritedFlags()
	if flags.HasAvailableFlags() {
		fmt.Fprintf(w, ".SH OPTIONS\n")
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
		}
		switch {
		case value == "":
		case f.NoOptDefVal != "":
			name += `[=\fI` + roff(value) + `\fR]`
		default:
			name += ` \fI` + roff(value) + `\fR`
		}
		fmt.Fprintf(w, ".TP\n%s\n", name)
		writeText(w, usage)
		if !slices.Contains(zeroValues, f.DefValue) {
			fmt.Fprintf(w, "(default %s)\n", roff(f.DefValue))
		}
	})
}

// zeroValues are the defaults that are not shown.
var zeroValues = []string{"", "0", "0s", "false", "[]", "map[]", "<nil>"}

// writeText writes paragraphs. Indented lines stay as they are; man(1) fills all others.
func writeText(w io.Writer, text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			fmt.Fprintln(w, ".PP")
		}
		asIs := false
		for line := range strings.SplitSeq(paragraph, "\n") {
			if indented := strings.HasPrefix(line, " "); indented != asIs {
				asIs = indented
				fmt.Fprintln(w, map[bool]string{true: ".nf", false: ".fi"}[asIs])
			}
			fmt.Fprintln(w, roff(line))
		}
		if asIs {
			fmt.Fprintln(w, ".fi")
		}
	}
}

// roffNames replace characters that man(1) would show as typographic ones, which a shell does not understand.
var roffNames = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, `"`, `\(dq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// roff returns line as text of man(7). A line that begins with a dot would be a request.
func roff(line string) string {
	line = roffNames.Replace(line)
	if strings.HasPrefix(line, ".") {
		return `\&` + line
	}
	return line
}
