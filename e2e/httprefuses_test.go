// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestIntegrationHTTPCompat checks the responses that clients of cloister read in a container.
//
// Attack 174.
func TestIntegrationHTTPCompat(t *testing.T) {
	h := newHost(t, false)
	taken := h.Holding(t, "--http", "--proxy", "hsh=/bin/sh")
	first, _ := taken.httpAddress(t)
	c := h.Holding(t, "--http", "--cloister-compat", "-e", "NO_PROXY=example.org", "--proxy", "hsh=/bin/sh", "--carrier", "files")
	address, header := c.httpAddress(t)
	if address == first {
		t.Errorf("both sessions are at %s", first)
	}
	host, port, err := net.SplitHostPort(address)
	check(t, err)
	token := strings.TrimPrefix(header, "X-Hostexec-Token: ")
	got := c.Sh(t, `echo $CLOISTER_GUARDIAN_HOST $CLOISTER_REQUEST_PORT $CLOISTER_TOKEN $NO_PROXY $no_proxy`).Out
	want(t, "what it is told", got, fmt.Sprintf("cloister-guardian %s %s example.org,cloister-guardian,%s cloister-guardian,%s\n", port, token, host, host))
	s := c.post(t, "cloister-guardian:"+port, "X-Cloister-Token: "+token, `{"cmd": "hsh -c 'exit 7'"}`)
	want(t, "a call by that name", s.String(), `200 auto_approved "--proxy hsh" "" 7 "" ""`)
	want(t, "a call by another", c.Sh(t, `exec 3<>/dev/tcp/$1/$2; printf 'POST /request HTTP/1.1\r\nHost: evil.example:%s\r\n%s\r\n\r\n' $2 "$3" >&3; read -r line <&3; echo "$line"`, host, port, header).Out, "HTTP/1.1 421 Misdirected Request\r\n")
}

// TestIntegrationHTTPRefuses uses --http without a gateway, or with another address.
//
// Attack 176.
func TestIntegrationHTTPRefuses(t *testing.T) {
	h := newHost(t, false)
	peer := h.Holding(t, "--http", "--proxy", "htrue="+find(t, "true"))
	address, _ := peer.httpAddress(t)
	host, port, err := net.SplitHostPort(address)
	check(t, err)
	for _, tt := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--http", "--network", "none"}, "without a network"},
		{[]string{"--http", "--network", "host"}, "on the host's network"},
		{[]string{"--http", "--network", "container:" + peer.ID}, "another container's"},
		{[]string{"--http", "--network", "hostexec-e2e-nonesuch"}, "look at network"},
		{[]string{"--http=0.0.0.0:9998"}, "every address of this host"},
		{[]string{"--http=127.0.0.1:9998"}, "is not the container's gateway, which is " + host},
		{[]string{"--http=:" + port}, "the port is taken: " + address},
		{[]string{"--http="}, "want :PORT"},
		{[]string{"--cloister-compat"}, "add --http"},
	} {
		r := h.Run(t, append(append([]string{"--rm"}, tt.flags...), image(t, "busybox"), "true")...)
		if r.Code != 125 || !strings.Contains(r.Err, tt.want) || !strings.Contains(r.Err, "hostexec: --") || strings.Contains(r.Err, "Unable to find image") {
			t.Errorf("run %q: %v, want 125 and %q", tt.flags, r, tt.want)
		}
	}
	if l, err := net.Listen("tcp", net.JoinHostPort(host, "9998")); err == nil { // or somebody has it
		defer l.Close()
	}
	r := h.Run(t, "--rm", "--http", "--cloister-compat", "--proxy", "htrue="+find(t, "true"), image(t, "busybox"), "true")
	if r.Code != 0 || !strings.Contains(r.Err, "--cloister-compat: port 9998 is taken") {
		t.Errorf("beside another session with HTTP: %v", r)
	}
	h.Must(t, "rm", "-f", peer.ID)
	h.quiet(t, leaves+grace)
}

// TestIntegrationHTTPExample runs the example of docs/http.md for busybox.
func TestIntegrationHTTPExample(t *testing.T) {
	_, text, ok := strings.Cut(string(readFile(t, "../docs/http.md")), "With busybox:\n\n```sh\n")
	example, _, _ := strings.Cut(text, "\n```")
	if !ok || !strings.HasPrefix(example, "wget ") {
		t.Fatal("docs/http.md has no example for busybox")
	}
	h := newHost(t, false)
	h.Write(t, h.Work, "Makefile", "test:\n\t@echo ok\n", 0o644)
	r := h.Run(t, "--rm", "--http", "-v", h.Work+":/w", "-w", "/w", "--proxy", "make", image(t, "busybox"), "sh", "-c", example)
	want(t, example, r.String(), Result{Out: `{"status":"auto_approved","pattern":"--proxy make","exit_code":0,"stdout":"ok\n"}` + "\n"}.String())
}
