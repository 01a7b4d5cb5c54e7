// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slowStarts returns the socket of an engine that does not start containers. starting gets a value for each request to
// start one, and others the method of each other request about one.
func slowStarts(t *testing.T) (socket string, starting chan struct{}, others chan string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "h") // the paths of sockets are short
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, starting, others = filepath.Join(dir, "docker.sock"), make(chan struct{}, 100), make(chan string, 1000)
	ln, err := net.Listen("unix", socket)
	check(t, err)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "docker"})
	proxy.FlushInterval = -1
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", "/var/run/docker.sock")
	}}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch ofContainer := strings.Contains(r.URL.Path, "/containers/"); {
		case ofContainer && strings.HasSuffix(r.URL.Path, "/start"):
			starting <- struct{}{}
			<-r.Context().Done()
			return
		case ofContainer:
			others <- r.Method
		}
		proxy.ServeHTTP(w, r)
	})}
	// ends with srv.Close.
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	return socket, starting, others
}

// TestIntegrationStartKilled ends docker hostexec start while the engine starts the container. The watcher took that for
// the death of a launcher that has created the container, and removed it after 3 seconds.
func TestIntegrationStartKilled(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel() // most of it is waiting
			h := newHost(t, false)
			socket, starting, others := slowStarts(t)
			h.Env = append(h.Env, "DOCKER_HOST=unix://"+socket)
			name := unique("start-" + sig.String())
			h.Must(t, withDocker("--proxy hsh=/bin/sh --all", append(h.clientRun(t, "create", "--name", name), "sleep", "1000")...)...)
			engine := []string{"-H", "unix:///var/run/docker.sock"}
			t.Cleanup(func() { h.Docker(t, append(engine, "rm", "-f", name)...) })
			h.Must(t, "hostexec", "stop", name)
			cmd := h.Command(t.Context(), pluginPath(t), "start", name)
			check(t, cmd.Start())
			<-starting
			check(t, cmd.Process.Signal(sig))
			_ = cmd.Wait()                                                // the signal has ended it
			for ended := time.Now(); time.Since(ended) < 4*time.Second; { // until the watcher asks again, later than it removed the container
				select {
				case method := <-others:
					if method == http.MethodDelete {
						t.Fatal("the watcher removes the container")
					}
				case <-time.After(patience):
					t.Fatal("the watcher does not ask about the container any more")
				}
			}
			h.Must(t, append(engine, "start", name)...)
			want(t, "a call", h.Must(t, "exec", name, "hsh", "-c", "echo $PWD"), h.Work+"\n")
			h.Must(t, append(engine, "rm", "-f", name)...)
			eventually(t, patience, "the session has gone, before its route to the engine", func() bool { return len(h.Sessions(t)) == 0 })
		})
	}
}
