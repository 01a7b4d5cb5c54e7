// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/plugin/carrier/http"
	"github.com/docker-hostexec/hostexec/plugin/carrier/socket"
	"github.com/docker-hostexec/hostexec/plugin/control"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Gateway is the address at which a container reaches this host: that of the host on the container's bridge.
type Gateway struct {
	Device string
	Addr   netip.Addr
	Port   uint16 // 0: the first free port from FirstPort on
}

// FirstPort is the port of HTTP calls, if it is free.
const FirstPort = 9998

// triedPorts is the number of ports from FirstPort on that are tried.
const triedPorts = 200

// HTTP lets the watcher listen at the gateway. It returns the address with the port. ctx limits the wait.
func (c *Conn) HTTP(ctx context.Context, at Gateway) (string, error) {
	b, err := json.Marshal(at)
	if err != nil {
		return "", err
	}
	return c.exchange(ctx, "listening", func() error { return c.send("http %s", b) })
}

// Listening reports the address of calls over HTTP.
func (c *LauncherConn) Listening(address string) { fmt.Fprintln(c.f, "listening", address) }

// openOtherListeners opens the listeners for callers without a shim: the socket for tools of this host, and HTTP if it
// was asked for.
func (c *Carriers) openOtherListeners() (listeners []net.Listener, err error) {
	token, err := http.LoadSecret(state.HTTPTokenFile(c.record.Dir))
	if err != nil {
		return nil, err
	}
	secret, err := http.NewSecret(state.ExecSecret(c.record.Dir))
	if err != nil {
		return nil, err
	}
	ln, err := socket.Bind(c.record.Dir, filepath.Base(state.ExecSock(c.record.Dir)), 0o600)
	if err != nil {
		return nil, fmt.Errorf("listen for tools: %w", err)
	}
	options := http.SocketOptions{Secret: secret, Token: token, Cwd: c.cwdOf}
	listeners = append(listeners, &removedOnClose{http.ListenExecSocket(control.OwnUserListener(ln), c.record.Dir, options), state.ExecSock(c.record.Dir)})
	known := c.record.Session().HTTP
	if known == nil {
		return listeners, nil
	}
	if err := http.WriteToken(state.ShareDir(c.record.Dir), token); err != nil {
		return nil, errors.Join(err, closeAll(listeners))
	}
	c.http = http.New(c.record.Dir, token, c.calls.Workdir)
	if known.Address != "" { // resumed
		c.reopenHTTP(known)
	}
	return append(listeners, c.http), nil
}

// removedOnClose is a listener whose file at path is removed when the listener is closed.
type removedOnClose struct {
	net.Listener
	path string
}

func (r *removedOnClose) Close() error {
	return errors.Join(dir.RemoveFile(r.path), r.Listener.Close())
}

// errDown is the answer to a host's tool while the container does not run.
var errDown = errors.New("the container does not run at the moment")

// cwdOf returns the container's path of the host's directory workdir.
func (c *Carriers) cwdOf(workdir string) (cwd string, err error) {
	sc := c.calls.Server.Config()
	if sc == nil || c.life.Down.Load() {
		return "", errDown
	}
	if real, err := filepath.EvalSymlinks(workdir); err == nil && filepath.IsAbs(workdir) {
		if cwd, ok := sc.Dirs.ContainerPath(real); ok {
			return cwd, nil
		}
	}
	return "", http.ErrNoWorkdir
}

// OpenHTTP listens at the container's gateway. text is the Gateway, as JSON, that the launcher has found.
func (c *Carriers) OpenHTTP(text string) (address string, err error) {
	var at Gateway
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		return "", err
	}
	if c.http == nil {
		return "", errors.New("this session has no calls over HTTP")
	}
	ports, err := c.portsAt(at)
	if err != nil {
		return "", err
	}
	got, err := c.http.Open(at.Device, at.Addr, ports...)
	if err != nil {
		return "", err
	}
	c.record.Change(func(rec *state.Session) { rec.HTTP = &state.HTTP{Device: at.Device, Address: got} })
	c.log.Info("listening for HTTP", "address", got, "device", at.Device)
	return got, nil
}

// portsAt returns the ports to try. It leaves out ports of other sessions, which may be resumed.
func (c *Carriers) portsAt(at Gateway) (ports []uint16, err error) {
	all, err := c.record.Store.List()
	if err != nil {
		c.log.Warn("find the ports of other sessions", "error", err)
	}
	holder := func(port uint16) int {
		address := netip.AddrPortFrom(at.Addr, port).String()
		return slices.IndexFunc(all, func(rec state.Session) bool {
			return rec.ID != c.record.ID && rec.HTTP != nil && rec.HTTP.Address == address
		})
	}
	if at.Port != 0 {
		if i := holder(at.Port); i >= 0 {
			remove := "docker hostexec prune"
			if name := all[i].ContainerName; name != "" { // prune keeps a session whose container exists
				remove = "docker rm -f " + name + ", then " + remove
			}
			return nil, fmt.Errorf("%w: %s is that of session %s, which runs or may be resumed; take another, or remove that session: %s",
				http.ErrTaken, netip.AddrPortFrom(at.Addr, at.Port), all[i].ID, remove)
		}
		return []uint16{at.Port}, nil
	}
	for port := uint16(FirstPort); port < FirstPort+triedPorts; port++ {
		if holder(port) < 0 {
			ports = append(ports, port)
		}
	}
	return ports, nil
}

// reopenHTTP listens at the known address, the only one that the container knows. Calls by other carriers are
// answered even if it fails.
func (c *Carriers) reopenHTTP(known *state.HTTP) {
	at, err := netip.ParseAddrPort(known.Address)
	if err == nil {
		_, err = c.http.Open(known.Device, at.Addr(), at.Port())
	}
	if err != nil {
		c.log.Error("listen for HTTP", "error", err)
		c.HTTPUnreachable = "calls over HTTP are not answered: " + err.Error()
	}
}
