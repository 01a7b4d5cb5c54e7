// SPDX-License-Identifier: Apache-2.0

package service

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker-hostexec/hostexec/plugin/cli/clitest"
)

func TestUnit(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    service
		want []string // lines
	}{
		{"plain", service{argv: []string{"/bin/x", "resume"}, env: []string{"A=b"}}, []string{`ExecStart="/bin/x" "resume"`, `Environment="A=b"`}},
		{"spaces", service{argv: []string{"/my bin/x", ""}, env: []string{"A=b  c "}}, []string{`ExecStart="/my bin/x" ""`, `Environment="A=b  c "`}},
		{"quotes", service{argv: []string{"/x", `y'"`, `a\b`}}, []string{`ExecStart="/x" "y'\"" "a\\b"`}},
		{"specifiers", service{argv: []string{"/100%/x", "%h"}, env: []string{"A=%h"}}, []string{`ExecStart="/100%%/x" "%%h"`, `Environment="A=%%h"`}},
		{"variables", service{argv: []string{"/x", "$HOME", "${HOME}"}, env: []string{"A=$HOME"}}, []string{`ExecStart="/x" "$$HOME" "$${HOME}"`, `Environment="A=$HOME"`}},
		{"a new line", service{argv: []string{"/x", "a\n[Install]"}, env: []string{"A=b\nExecStart=/bin/y"}}, []string{`ExecStart="/x" "a\x0a[Install]"`, `Environment="A=b\x0aExecStart=/bin/y"`}},
		{"a word alone", service{argv: []string{"/x", ";", "#"}}, []string{`ExecStart="/x" ";" "#"`}},
		{"bytes", service{argv: []string{"/x", "ü", "\xff"}}, []string{`ExecStart="/x" "ü" "\xff"`}},
	} {
		got, err := unit(tt.s)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for _, line := range tt.want {
			if !slices.Contains(strings.Split(got, "\n"), line) {
				t.Errorf("%s: no line %s in\n%s", tt.name, line, got)
			}
		}
		if n := strings.Count(got, "\nExecStart="); n != 1 {
			t.Errorf("%s: %d lines ExecStart", tt.name, n)
		}
	}
	for _, path := range []string{"/a$b/x", "/a\nb/x", `/a"b/x`, "/a'b/x", `/a\b/x`, "/a\xffb/x"} {
		if _, err := unit(service{argv: []string{path}}); err == nil {
			t.Errorf("unit of %q: no error, although systemd cannot run it", path)
		}
	}
}

// TestUnitVerified checks a unit with values that need quotes by systemd-analyze, where it is
// installed.
func TestUnitVerified(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed: TestUnit has to do")
		return
	}
	dir := filepath.Join(t.TempDir(), "a b 100% c")
	exe := writeFile(t, dir, "x;y", "#!/bin/sh\n", 0o755)
	text, err := unit(service{argv: []string{exe, "$HOME", "%h", `a"b\`, "c\nd"}, env: []string{"A=%h $HOME \"\\\n"}})
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, t.TempDir(), unitName, text, 0o644)
	cmd := exec.Command(verify, "verify", "--user", "--man=no", file)
	cmd.Env = append(cmd.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "docker-hostexec.service") {
		t.Errorf("systemd-analyze verify: %v\n%s\n%s", err, out, text)
	}
}

// TestPlist reads the agent's file strictly, as launchd.plist(5) has it.
func TestPlist(t *testing.T) {
	s := service{argv: []string{"/my bin/<x>", "a&b", `"'`, "c\nd\t", "ü"}, env: []string{"A=1=2", "B=<&>"}}
	text, err := plist(s)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := readPlist(t, text).(map[string]any)
	if !ok {
		t.Fatalf("no dictionary: %s", text)
	}
	var argv []string
	for _, arg := range got["ProgramArguments"].([]any) {
		argv = append(argv, arg.(string))
	}
	if !slices.Equal(argv, s.argv) {
		t.Errorf("arguments = %q, want %q", argv, s.argv)
	}
	env := got["EnvironmentVariables"].(map[string]any)
	if len(env) != 2 || env["A"] != "1=2" || env["B"] != "<&>" {
		t.Errorf("environment = %q", env)
	}
	if got["Label"] != agentLabel || got["RunAtLoad"] != true || got["AbandonProcessGroup"] != true {
		t.Errorf("keys = %v", got)
	}
	for _, bad := range []string{"a\x00b", "\xff", "\x1b"} {
		if _, err := plist(service{argv: []string{"/x", bad}}); err == nil {
			t.Errorf("plist with %q: no error, although XML cannot represent it", bad)
		}
	}
}

// readPlist parses a property list of strings, truths, arrays and dictionaries; anything
// else in it fails the test.
func readPlist(t *testing.T, text string) any {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	var elements []xml.Token
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		switch tok := xml.CopyToken(tok).(type) {
		case xml.StartElement, xml.EndElement:
			elements = append(elements, tok)
		case xml.CharData:
			if n := len(elements); n > 0 && isStart(elements[n-1], "string", "key") {
				elements = append(elements, tok)
			} else if strings.TrimSpace(string(tok)) != "" {
				t.Fatalf("text between elements: %q", tok)
			}
		}
	}
	if len(elements) < 3 || !isStart(elements[0], "plist") {
		t.Fatalf("no plist: %s", text)
	}
	v, rest := plistValue(t, elements[1:])
	if len(rest) != 1 {
		t.Fatalf("more than one value in the plist: %v", rest)
	}
	return v
}

func isStart(tok xml.Token, names ...string) bool {
	el, ok := tok.(xml.StartElement)
	return ok && slices.Contains(names, el.Name.Local)
}

func plistValue(t *testing.T, in []xml.Token) (v any, rest []xml.Token) {
	t.Helper()
	name := in[0].(xml.StartElement).Name.Local
	in = in[1:]
	switch name {
	case "true", "false":
		return name == "true", in[1:]
	case "string", "key":
		if text, ok := in[0].(xml.CharData); ok {
			return string(text), in[2:]
		}
		return "", in[1:]
	case "array":
		var all []any
		for v = nil; isStart(in[0], "string", "array", "dict", "true", "false"); all = append(all, v) {
			v, in = plistValue(t, in)
		}
		return all, in[1:]
	case "dict":
		all := map[string]any{}
		for isStart(in[0], "key") {
			var key any
			key, in = plistValue(t, in)
			all[key.(string)], in = plistValue(t, in)
		}
		return all, in[1:]
	}
	t.Fatalf("element <%s>", name)
	return nil, nil
}

// writeFile puts a file into dir, which it makes, and returns its path.
func writeFile(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestServiceStatus checks that a unit file counts as installed, and starts at login only if its
// link exists.
func TestServiceStatus(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.service")
	m := serviceManager{
		file: func() (string, error) { return file, nil }, link: filepath.Join("default.target.wants", "x.service"), mark: fileMark, statusCommand: []string{"false"},
	}
	show := func() (string, error) {
		var out strings.Builder
		err := showService(t.Context(), clitest.New(t, &out), m)
		return out.String(), err
	}
	if out, err := show(); err == nil || out != "" {
		t.Errorf("without a service: %q, %v", out, err)
	}
	writeFile(t, dir, "x.service", "[Unit]\n", 0o644)
	if _, err := show(); err == nil {
		t.Error("another program's file is taken for the service's")
	}
	writeFile(t, dir, "x.service", "# "+fileMark+"\n", 0o644)
	for _, tt := range []struct {
		ask  string
		link bool
		want string
	}{
		{"false", false, "starts at login: no\nruns: no\n"},
		{"true", true, "starts at login: yes\nruns: yes\n"},
		{"/no/such/manager", true, "starts at login: yes\nruns: not known: "},
	} {
		m.statusCommand = []string{tt.ask}
		if tt.link {
			if err := enable(file, m.link); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := show(); err != nil || !strings.HasPrefix(out, "installed: "+file+"\n"+tt.want) {
			t.Errorf("%s, link %v: %q, %v, want %q", tt.ask, tt.link, out, err, tt.want)
		}
	}
}
