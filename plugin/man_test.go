// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
)

// request is a line that man(1) obeys and does not show.
var request = regexp.MustCompile(`^\.(?:TH "[^"]*" 1 "" "[^"]*" "[^"]*"|SH [A-Z ]+|TP|PP|nf|fi|nh|ad l|BR [\w\\-]+ \(1\),?)$`)

// TestEveryVerbHasAPage checks that each visible verb has a page with all sections, and that no text of a verb is a
// request of man(7).
func TestEveryVerbHasAPage(t *testing.T) {
	root := newRootCommand(clitest.New(t, io.Discard))
	dir := filepath.Join(t.TempDir(), "share", "man1") // writePages creates it
	if err := writePages(dir, root); err != nil {
		t.Fatal(err)
	}
	pages := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		pages++
		page, err := os.ReadFile(filepath.Join(dir, pageName(cmd)+".1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH SEE ALSO\n", roff(cmd.Short)} {
			if !bytes.Contains(page, []byte(want)) {
				t.Errorf("%s(1) lacks %q", pageName(cmd), want)
			}
		}
		if strings.Contains(cmd.Long, "\nEXIT STATUS\n") != bytes.Contains(page, []byte("\n.SH EXIT STATUS\n")) {
			t.Errorf("%s(1) and --help do not agree about EXIT STATUS", pageName(cmd))
		}
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, ".") && !request.MatchString(strings.TrimSuffix(line, "\n")) || strings.HasPrefix(line, "'") {
				t.Errorf("%s(1): man obeys %q", pageName(cmd), line)
			}
		}
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				walk(sub)
			} else if _, err := os.Stat(filepath.Join(dir, pageName(sub)+".1")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the hidden verb %s has a page: %v", sub.Name(), err)
			}
		}
	}
	walk(root)
	if pages < 40 {
		t.Errorf("%d pages, want 40 at least", pages)
	}
}

func TestPage(t *testing.T) {
	docker := &cobra.Command{Use: "docker"}
	hostexec := &cobra.Command{Use: "hostexec", Short: "The parent"}
	verb := &cobra.Command{
		Use: "test-verb [OPTIONS] FILE", Short: "Test 'it'",
		Long: "Test it\n\n.profile is\n  a 'file'  \\ here\nas ever\n\nFIELDS OF A TEMPLATE\n  .Name\n\nEXIT STATUS\n  0  it-was",
		Run:  func(*cobra.Command, []string) {},
	}
	verb.Flags().StringP("format", "f", "table", "Format output: `json|TEMPLATE`")
	verb.Flags().Bool("no-color", false, "No color")
	verb.Flags().String("carrier", "", "The carrier")
	verb.Flags().Lookup("carrier").NoOptDefVal = "auto"
	verb.Flags().Bool("old", false, "")
	if err := verb.Flags().MarkHidden("old"); err != nil {
		t.Fatal(err)
	}
	docker.AddCommand(hostexec)
	hostexec.AddCommand(verb)
	var got bytes.Buffer
	writePage(&got, verb)
	want := `.TH "DOCKER\-HOSTEXEC\-TEST\-VERB" 1 "" "hostexec 0.0.0\-dev" "Docker hostexec"
.nh
.ad l
.SH NAME
docker\-hostexec\-test\-verb \- Test \(aqit\(aq
.SH SYNOPSIS
\fBdocker hostexec test\-verb\fR [OPTIONS] FILE
.SH DESCRIPTION
Test it
.PP
\&.profile is
.nf
  a \(aqfile\(aq  \e here
.fi
as ever
.SH OPTIONS
.TP
\fB\-\-carrier\fR[=\fIstring\fR]
The carrier
.TP
\fB\-f\fR, \fB\-\-format\fR \fIjson|TEMPLATE\fR
Format output: json|TEMPLATE
(default table)
.TP
\fB\-\-no\-color\fR
No color
.SH FIELDS OF A TEMPLATE
.nf
  .Name
.fi
.SH EXIT STATUS
.nf
  0  it\-was
.fi
.SH SEE ALSO
.BR docker\-hostexec (1),
.BR docker (1)
.PP
https://github.com/docker\-hostexec/hostexec
`
	if got.String() != want {
		t.Errorf("the page is\n%s\nwant\n%s", got.String(), want)
	}
}

func TestCompletionScripts(t *testing.T) {
	for shell, want := range map[string]string{"bash": "docker-hostexec\n", "zsh": "#compdef docker-hostexec\n", "fish": "complete -c docker-hostexec", "powershell": "'docker-hostexec'"} {
		var out bytes.Buffer
		root := newRootCommand(clitest.New(t, &out))
		root.SetArgs([]string{"completion", shell})
		if err := root.Execute(); err != nil || !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "__complete") {
			t.Errorf("the script of %s: %v, %q, want %q in it", shell, err, out.String(), want)
		}
	}
	root := newRootCommand(clitest.New(t, io.Discard))
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs([]string{"completion", "tcsh"})
	if err := root.Execute(); err == nil {
		t.Error("there is a script for tcsh")
	}
}
