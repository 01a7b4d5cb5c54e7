// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"testing"

	"github.com/docker/cli/cli/command"

	"github.com/docker-hostexec/hostexec/plugin/control"
)

func TestCheckTerms(t *testing.T) {
	for _, tt := range []struct {
		args []string
		ok   bool
	}{
		{nil, true}, {[]string{"--for", "15m"}, true}, {[]string{"--times", "1"}, true}, {[]string{"--always"}, true},
		{[]string{"--for", "0s"}, false}, {[]string{"--for", "-5m"}, false}, {[]string{"--times", "0"}, false}, {[]string{"--times", "-1"}, false},
		{[]string{"--always", "--times", "2"}, false}, {[]string{"--for", "1m", "--always"}, false},
	} {
		t.Setenv("HOSTEXEC_HOME", t.TempDir()) // where nothing waits
		dockerCLI, err := command.NewDockerCli()
		if err != nil {
			t.Fatal(err)
		}
		cmd := NewApproveCommand(dockerCLI)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append(tt.args, "00ff"))
		err = cmd.Execute()
		if asked := err != nil && err.Error() == "no request 00ff waits for approval"; asked != tt.ok {
			t.Errorf("approve %q: %v", tt.args, err)
		}
	}
}

// TestRequest checks that the id of each caller finds a question, even if that caller has left. A given beginning must
// be longer than a container can choose.
//
// Attack 100.
func TestRequest(t *testing.T) {
	const first, second, short = "aa00112233445566", "aa00112244556677", "b0"
	all := []control.Question{{ID: first, Waiting: []string{"aa11223344556677", second}}, {ID: short, Waiting: []string{short}}}
	for ref, want := range map[string]string{
		first: first, second: first, "aa11223344556677": first, "aa112233": first, "aa001122": first, short: short,
		"": "", "aa": "", "aa11223": "", "b": "", "c": "", "--all": "", "*": "", first + "0": "", " " + first: "",
	} {
		if q, err := request(all, ref); q.ID != want || (err == nil) != (want != "") {
			t.Errorf("request %q = %q, %v, want %q", ref, q.ID, err, want)
		}
	}
	all = append(all, control.Question{ID: "aa112233ffffffff"})
	if _, err := request(all, "aa11"); err == nil || err.Error() != "aa11 is too short for an id: give at least 8 characters" {
		t.Errorf("for a short beginning: %v", err)
	}
	if q, err := request(all, "aa112233"); err == nil {
		t.Errorf("of two with this beginning, %q is chosen", q.ID)
	}
}
