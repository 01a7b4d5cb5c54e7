// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// within runs a program among the mounts of an engine that has its own, until the end of
// the test.
func (e *engine) within(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{fmt.Sprintf("--mount=/proc/%d/ns/mnt", e.cmd.Process.Pid), "--", name}, args...)...)
	check(t, cmd.Start())
	t.Cleanup(func() { cancel(); cmd.Wait() })
}

// sees reports whether the engine sees what is in dir, as a mount of that kind.
func (e *engine) mounted(t *testing.T, dir, kind string) bool {
	t.Helper()
	b := readFile(t, fmt.Sprintf("/proc/%d/mounts", e.cmd.Process.Pid))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); f[1] == dir && strings.HasPrefix(f[2], kind) {
			return true
		}
	}
	return false
}

func remoteEngine(t *testing.T) *engine {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("a second engine can only be started by root: run the integration tests as root, or leave this one out by name")
	}
	return newEngineOf(t, true)
}

// TestIntegrationRemoteEngine uses an engine that does not see this host's directories, by each of docker's
// ways to reach a remote engine.
func TestIntegrationRemoteEngine(t *testing.T) {
	e := remoteEngine(t)
	h := newHost(t, false)
	e.within(t, "mount", "-t", "tmpfs", "none", h.Home)
	eventually(t, patience, "the engine does not see the home", func() bool { return e.mounted(t, h.Home, "tmpfs") })
	routes := map[string]func(*testing.T) (flags []string){
		"unix": func(*testing.T) []string { return []string{"--host", "unix://" + e.socket()} },
		"tls":  func(t *testing.T) []string { return tlsContext(t, h, e.socket()) },
		"ssh":  func(t *testing.T) []string { return overSSH(t, h, e.socket()) },
	}
	for name, route := range routes {
		t.Run(name, func(t *testing.T) { checkRemoteCalls(t, h, route(t)) })
	}
	r := h.Docker(t, "--host", "unix://"+e.socket(), "hostexec", "agent", "--mode", "container", "--image", engineRef, "--network", "none", "--", "true")
	want(t, "code of an agent there", r.Code, 125)
	wantText(t, r.Err, "a host directory is not visible to the daemon")
}

func checkRemoteCalls(t *testing.T, h *Host, flags []string) {
	docker := func(args ...string) Result {
		t.Helper()
		return h.Docker(t, append(append([]string{}, flags...), args...)...)
	}
	made := docker(append(h.runArgs("-d", "--proxy", "hsh=/bin/sh",
		"--proxy", "there=/bin/sh,where=container:"+engineRef, "--proxy", "here=/bin/sh,where=container:"+image(t, "full")+",network=none,docker_host=unix:///var/run/docker.sock",
		"-v", h.Work+":/w", "-w", "/w"), engineRef, "sleep", "1000")...)
	want(t, "run", made.Code, 0)
	id := strings.TrimSpace(made.Out)
	called := func(script string) string {
		t.Helper()
		r := docker("exec", id, "hsh", "-c", script)
		return fmt.Sprintf("%s%s%d", r.Out, r.Err, r.Code)
	}
	want(t, "a call", called("echo called; exit 7"), "called\n7")
	want(t, "where it runs: not in what the engine mounts", called("pwd"), h.Work+"\n0")
	checkRemoteRefused(t, docker("exec", id, "there", "-c", "echo ran"), "the engine does not see this host's directories")
	want(t, "in a container of an engine of this host's", strings.TrimSuffix(docker("exec", id, "here", "-c", "pwd; echo made >made; cat made").Out, "\n"), h.Work+"\nmade")
	docker("restart", "-t", "0", id)
	want(t, "a call after restart", called("echo called"), "called\n0")
	session := strings.TrimSpace(docker("inspect", "--format", `{{index .Config.Labels "io.hostexec.session"}}`, id).Out)
	carrier, why := h.reached(t, &Container{Host: h, Session: session})
	want(t, "status", carrier+": "+why, "relay: the engine does not see this host's directories")
	volumes := func() string {
		return docker("volume", "ls", "-q", "--filter", "label=io.hostexec.session="+session).Out
	}
	want(t, "volumes", strings.Count(volumes(), "\n"), 1)
	docker("rm", "-f", id)
	eventually(t, leaves, "the volume goes with the container", func() bool { return volumes() == "" })

	docker("volume", "create", "--label", "io.hostexec.session=0123456789ab")
	docker("hostexec", "prune", "-f")
	want(t, "volumes after prune", docker("volume", "ls", "-q").Out, "")
}

// checkRemoteRefused requires that an engine on another host refuses a call container, with
// the reason and the next command.
func checkRemoteRefused(t *testing.T, r Result, why string) {
	t.Helper()
	want(t, "code of a command in a container there", r.Code, 125)
	want(t, "what it wrote", r.Out, "")
	wantText(t, r.Err, why)
	wantText(t, r.Err, "such as docker_host=unix:///var/run/docker.sock, or change where")
}

// TestIntegrationFUSE uses an engine that sees this host's directories through a FUSE file system, like a
// virtual machine: sockets and file events do not cross it.
func TestIntegrationFUSE(t *testing.T) {
	e := remoteEngine(t)
	h := newHost(t, false)
	h.Env = e.env()
	e.within(t, find(t, "bindfs"), "-f", h.Home, h.Home)
	eventually(t, patience, "the engine sees the home by bindfs", func() bool { return e.mounted(t, h.Home, "fuse") })
	run := func(args ...string) *Container {
		return h.Detached(t, append(append([]string{"--proxy", "hsh=/bin/sh", "-v", h.Work + ":/w", "-w", "/w"}, args...), engineRef, "sleep", "1000")...)
	}
	for _, when := range []string{"found out", "known"} {
		c := run()
		want(t, when+": a call", c.Exec(t, "hsh", "-c", "pwd; exit 7").String(), Result{h.Work + "\n", "", 7}.String())
		carrier, why := h.reached(t, c)
		want(t, when+": status", carrier+": "+why, "relay: no socket of this host crosses into the container")
	}
	c := run("--proxy", "there=/bin/sh,where=container:"+engineRef)
	checkRemoteRefused(t, c.Exec(t, "there", "-c", "echo ran"), "sockets of this host do not work in containers of the engine")
	c = run("--carrier", "socket")
	if r := c.Exec(t, "hsh", "-c", "echo never"); r.Code != 125 || !strings.Contains(r.Err, "hostexec is not running on the host") {
		t.Errorf("by a socket that does not cross: %v", r)
	}
}

// tlsContext puts a TLS server that wants the client's certificate before the engine, and
// makes a context of it.
func tlsContext(t *testing.T, h *Host, socket string) []string {
	dir := filepath.Join(h.Home, "tls")
	h.mkdir(t, dir)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "e2e"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	check(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	check(t, err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
	h.Write(t, dir, "cert.pem", string(cert), 0o644)
	h.Write(t, dir, "key.pem", string(private), 0o600)

	pair, err := tls.X509KeyPair(cert, private)
	check(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert})
	check(t, err)
	t.Cleanup(func() { ln.Close() })
	// ends when the listener is closed.
	go forward(ln, socket)
	h.Must(t, "context", "create", "elsewhere", "--docker", fmt.Sprintf("host=tcp://%s,ca=%[2]s/cert.pem,cert=%[2]s/cert.pem,key=%[2]s/key.pem", ln.Addr(), dir))
	return []string{"--context", "elsewhere"}
}

// forward joins each connection to one of the engine's, either half of which may end first.
func forward(ln net.Listener, socket string) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		// ends with either side.
		go func() {
			defer c.Close()
			to, err := net.Dial("unix", socket)
			if err != nil {
				return
			}
			defer to.Close()
			back := make(chan struct{})
			// ends when the engine has said all, or to is closed.
			go func() {
				defer close(back)
				io.Copy(c, to)
				c.(interface{ CloseWrite() error }).CloseWrite()
			}()
			io.Copy(to, c)
			to.(*net.UnixConn).CloseWrite()
			<-back
		}()
	}
}

// overSSH starts a server of ssh on this host, whose logins reach the engine.
func overSSH(t *testing.T, h *Host, socket string) []string {
	b := &bench{host: h}
	b.sshConfig = "SetEnv DOCKER_HOST=unix://" + socket
	args := b.ssh(t)
	wrapper := fmt.Sprintf("#!/bin/sh\nexec %s %s \"$@\"\n", find(t, "ssh"), strings.Join(args[:len(args)-1], " "))
	dir := filepath.Join(h.Home, "bin")
	h.mkdir(t, dir)
	h.Write(t, dir, "ssh", wrapper, 0o755)
	h.Env = append(h.Env, "PATH="+dir+":"+os.Getenv("PATH"))
	return []string{"--host", "ssh://127.0.0.1"}
}
