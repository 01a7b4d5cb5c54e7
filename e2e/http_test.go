// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// said is what POST /request is answered with.
type said struct {
	HTTP                            int `json:"-"`
	Status, Pattern, Reason, Stdout string
	ExitCode                        *int `json:"exit_code"`
	Stderr                          string
}

func (s said) String() string {
	code := -1
	if s.ExitCode != nil {
		code = *s.ExitCode
	}
	return fmt.Sprintf("%d %s %q %q %d %q %q", s.HTTP, s.Status, s.Pattern, s.Reason, code, s.Stdout, s.Stderr)
}

// requestScript makes a request by what every bash can: $1 is the address, $2 a header, $3 the body.
const requestScript = `exec 3<>/dev/tcp/${1%:*}/${1##*:} && printf 'POST /request HTTP/1.1\r\nHost: %s\r\n%s\r\nContent-Length: %d\r\n\r\n%s' "$1" "$2" ${#3} "$3" >&3 && exec cat <&3`

// post makes a request from within the container.
func (c *Container) post(t testing.TB, address, header, body string) said {
	t.Helper()
	r := c.Sh(t, requestScript, address, header, body)
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(r.Out)), nil)
	if err != nil {
		t.Errorf("POST %s: %v: %v", body, err, r) // not Fatalf: a test calls it in a goroutine
		return said{}
	}
	s := said{HTTP: resp.StatusCode}
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		t.Errorf("POST %s: %v: %v", body, err, r)
	}
	return s
}

// httpAddress returns the address for calls over HTTP in the container, and the header with its token.
func (c *Container) httpAddress(t testing.TB) (address, header string) {
	t.Helper()
	r := c.Sh(t, "echo ${HOSTEXEC_URL#http://}; cat /run/hostexec/token")
	lines := strings.Fields(r.Out)
	if len(lines) != 2 || len(lines[1]) != 64 {
		t.Fatalf("what the container is told: %v", r)
	}
	return lines[0], "X-Hostexec-Token: " + lines[1]
}

// TestIntegrationHTTP makes calls over HTTP in a network of the user's: they are those of a
// shim in all but their form.
//
// Attacks 121, 122, 172, 175, 182.
func TestIntegrationHTTP(t *testing.T) {
	for _, h := range dockerUsers(t) {
		t.Run(h.Name, func(t *testing.T) {
			name := unique("http-" + h.Name)
			gateway := network(t, h, name) + "1"
			c := h.Holding(t, append(proxies(t), "--http", "--network", name, "--proxy", "banned=deny", "--proxy", "hask=ask,path=/bin/sh")...).As("1000")
			address, header := c.httpAddress(t)
			if !strings.HasPrefix(address, gateway+":") {
				t.Errorf("address = %s, want one at %s", address, gateway)
			}
			h.Write(t, h.Work, "here", "a file\n", 0o644)
			for _, tt := range []struct{ body, want string }{
				{`{"cmd": "hsh -c 'pwd; cat here; echo err >&2; exit 3'"}`, fmt.Sprintf(`200 auto_approved "--proxy hsh" "" 3 %q "err\n"`, h.Work+"\na file\n")},
				{`{"args": ["htrue"], "cmd": "banned"}`, `200 auto_approved "--proxy htrue" "" 0 "" ""`},
				{`{"args": ["hcat"]}`, `200 auto_approved "--proxy hcat" "" 0 "" ""`}, // stdin is empty
				{`{"args": ["hsh", "-c", "kill -KILL $$"]}`, `200 auto_approved "--proxy hsh" "" 137 "" ""`},
				{`{"args": ["banned"]}`, `200 denied "" "denied by --proxy banned=deny" 126 "" ""`},
				{`{"args": ["nonesuch"]}`, `200 denied "" "not a proxied command" 127 "" ""`},
				{`{"args": ["htrue"], "workdir": "/etc"}`, `200 denied "" "workdir mismatch: /etc is not mounted from the host" 126 "" ""`},
				{`{"cmd": "htrue '"}`, `400 error "" "invalid request: a quote or a backslash in the command has no end" 125 "" ""`},
			} {
				want(t, tt.body, c.post(t, address, header, tt.body).String(), tt.want)
			}
			much := c.post(t, address, header, `{"args": ["hsh", "-c", "head -c 2000000 /dev/zero | tr '\\0' a; echo end >&2"]}`)
			if len(much.Stdout) != 2000000 || much.Stderr != "end\n" || strings.Trim(much.Stdout, "a") != "" {
				t.Errorf("%d bytes of 2000000: %s %s", len(much.Stdout), much.Status, much.Reason)
			}
			sameAudit(t, c, address, header)
			if h == dockerUsers(t)[0] { // what does not depend on who the person is
				httpAsks(t, c, address, header)
				httpHangUp(t, c, address, header)
			}
			httpStrangers(t, c, address, header, name)
			httpResumed(t, c, address, header, name)
		})
	}
}

// sameAudit makes one call by a shim and one over HTTP: their records are equal.
func sameAudit(t *testing.T, c *Container, address, header string) {
	kinds := func(mark string) (list []string) {
		for _, line := range c.Host.Audit(t, mark) {
			words := strings.Fields(line[:strings.Index(line, " request=")])
			list = append(list, strings.ReplaceAll(strings.Join(words[1:], " "), mark, "MARK"))
		}
		return list
	}
	shim, over := marked(t), marked(t)
	want(t, "by the shim", c.Exec(t, "hsh", "-c", "exit 0", shim).Code, 0)
	want(t, "over HTTP", c.post(t, address, header, `{"args": ["hsh", "-c", "exit 0", "`+over+`"]}`).HTTP, 200)
	got, wanted := strings.Join(kinds(over), "\n"), strings.Join(kinds(shim), "\n")
	if got != wanted || len(kinds(over)) != 3 {
		t.Errorf("over HTTP is written down\n%s\nby a shim\n%s", got, wanted)
	}
}

// httpAsks has a person say yes and no.
func httpAsks(t *testing.T, c *Container, address, header string) {
	h := c.Host
	approver(t, h)
	waitUntilAsked(t, c, "hask", "-c", "exit 0")
	for answer, wanted := range map[string]string{
		"approve":       `200 approved "" "" 4 "yes\n" ""`,
		"deny":          `200 denied "" "Denied by user" 126 "" ""`,
		"deny -m later": `200 denied "" "later" 126 "" ""`,
	} {
		mark := marked(t)
		got := make(chan said, 1)
		// ends with the request, which the answer below ends.
		go func() {
			got <- c.post(t, address, header, `{"args": ["hask", "-c", "echo yes; exit 4", "`+mark+`"]}`)
		}()
		q := pending(t, h, mark, 1)[0]
		args := append([]string{"hostexec"}, strings.Fields(answer)...)
		h.Must(t, append(args, q.ID)...)
		want(t, answer, (<-got).String(), wanted)
	}
}

// httpStrangers connects as others: a client in the same network needs the token, and no other
// client can connect.
func httpStrangers(t *testing.T, c *Container, address, header, network string) {
	h := c.Host
	const body = `{"args": ["htrue"]}`
	other := h.Holding(t, "--http", "--proxy", "htrue="+find(t, "true")) // in the default network
	theirs, its := other.httpAddress(t)
	want(t, "a call in the default network", other.post(t, theirs, its, body).Status, "auto_approved")
	if theirs == address {
		t.Errorf("two networks have one gateway: %s", address)
	}
	for what, bad := range map[string]string{"no token": "X: y", "a session's token": its, "no more than a guess": "X-Cloister-Token: " + strings.Repeat("0", 64)} {
		if got := c.post(t, address, bad, body); got.HTTP != 401 || got.Status != "error" || got.ExitCode == nil {
			t.Errorf("%s: %v", what, got)
		}
	}
	neighbour := h.Docker(t, "run", "--rm", "--label", runLabel, "--network", network, image(t, "full"), "bash", "-c", requestScript, "bash", address, "X: y", body)
	if !strings.HasPrefix(neighbour.Out, "HTTP/1.1 401 ") {
		t.Errorf("a neighbour without the token: %v", neighbour)
	}
	if r := other.Sh(t, requestScript, address, header, body); r.Code == 0 || r.Out != "" {
		t.Errorf("a container of another network, with the token: %v", r)
	}
	host := h.feed(t, "", "bash", "-c", requestScript, "bash", address, header, body)
	want(t, "what the host itself gets, with the token", host.Out, "")
	for _, at := range listens(t, h.Watcher(t, c.Session)) {
		want(t, "what the watcher listens at", at, address)
	}
	for what, text := range map[string]string{
		"docker inspect": h.Must(t, "inspect", c.ID), "inspect": h.Must(t, "hostexec", "inspect", c.Session),
		"the record": string(readFile(t, filepath.Join(h.State, "sessions", c.Session, "session.json"))), "the log": h.Must(t, "hostexec", "logs", c.Session),
		"the audit log": string(readFile(t, filepath.Join(h.State, "audit.log"))), "env": c.Exec(t, "env").Out,
	} {
		if _, token, _ := strings.Cut(header, ": "); strings.Contains(text, token) {
			t.Errorf("%s has the token", what)
		}
	}
	h.Must(t, "rm", "-f", other.ID)
}

// listens returns where a process listens by TCP.
func listens(t *testing.T, p *Proc) (list []string) {
	t.Helper()
	own := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID))
	check(t, err)
	for _, fd := range fds {
		name, _ := os.Readlink(fd) // it may be closed meanwhile
		own[name] = true
	}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for line := range strings.Lines(string(readFile(t, file))) {
			f := strings.Fields(line)
			var a, b, c, d byte
			var port int
			if len(f) > 9 && f[3] == "0A" && own["socket:["+f[9]+"]"] {
				if n, _ := fmt.Sscanf(f[1], "%2X%2X%2X%2X:%4X", &d, &c, &b, &a, &port); n != 5 {
					t.Errorf("%s: %s", file, line)
				}
				list = append(list, fmt.Sprintf("%d.%d.%d.%d:%d", a, b, c, d, port))
			}
		}
	}
	if len(list) != 1 {
		t.Errorf("the watcher listens at %q, want one address", list)
	}
	return list
}

// httpHangUp has a client go: its command's whole tree ends.
func httpHangUp(t *testing.T, c *Container, address, header string) {
	call := c.Start(t, "bash", "-c", requestScript, "bash", address, header, `{"args": ["hsh", "-c", "echo $$ >pid.tmp; mv pid.tmp pid; sleep 1000; true"]}`)
	file := filepath.Join(c.Host.Work, "pid")
	eventually(t, patience, "the command runs", func() bool { return exists(file) })
	command := hold(t, atoi(t, string(readFile(t, file))))
	call.Signal(t, "KILL")
	command.Ends(t, patience)
}

// httpResumed restarts the watcher: it listens on the same port, or reports that it cannot.
func httpResumed(t *testing.T, c *Container, address, header, network string) {
	h := c.Host
	h.Must(t, "hostexec", "stop", c.Session)
	if r := c.Sh(t, requestScript, address, header, "{}"); r.Code == 0 {
		t.Errorf("a call of nobody: %v", r)
	}
	other := h.Holding(t, "--http", "--network", network, "--proxy", "htrue="+find(t, "true"))
	if theirs, _ := other.httpAddress(t); theirs == address {
		t.Errorf("another session has taken %s, which is to be resumed at", address)
	}
	h.Must(t, "rm", "-f", other.ID)
	h.Must(t, "hostexec", "resume", c.Session)
	want(t, "a call after resume", c.post(t, address, header, `{"args": ["htrue"]}`).Status, "auto_approved")
	h.Watcher(t, c.Session).Signal(t, syscall.SIGKILL)
	eventually(t, patience, "the session is lost", func() bool {
		return h.Must(t, "hostexec", "status", "-a", "--filter", "state=lost", "-q") == c.Session+"\n"
	})
	taken, err := net.Listen("tcp", address)
	check(t, err)
	defer taken.Close()
	r := h.Docker(t, "hostexec", "resume", c.Session)
	if r.Code != 0 || !strings.Contains(r.Err, "warning: calls over HTTP are not answered: listen for HTTP: the port is taken: "+address) {
		t.Errorf("resume where the port is taken: %v", r)
	}
	want(t, "a shim's call then", c.Exec(t, "htrue").Code, 0)
}
