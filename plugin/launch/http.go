// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/carrier/http"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// atGateway is the value of --http without an argument.
const atGateway = "gateway"

// httpOptions are the values of --http and --cloister-compat. The zero value means no HTTP.
type httpOptions struct {
	wanted   bool
	addr     netip.Addr // the zero value means the address of the gateway
	port     uint16     // 0 means the first free port
	cloister bool       // also sets the variables that cloister's clients read
}

// parseHTTP reads the flags --http and --cloister-compat.
func parseHTTP(text string, compat bool) (o httpOptions, err error) {
	if text == "" {
		if compat {
			return o, cli.Hint(errors.New("--cloister-compat needs calls over HTTP"), "add --http")
		}
		return o, nil
	}
	o = httpOptions{wanted: true, cloister: compat}
	if text == atGateway {
		return o, nil
	}
	host, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		host, port = text[:i], text[i+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return o, HTTPUsageError(text)
		}
		o.port = uint16(n)
	}
	if host == "" {
		return o, nil
	}
	if o.addr, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err != nil {
		return o, HTTPUsageError(text)
	}
	if o.addr.IsUnspecified() {
		return o, cli.Hint(fmt.Errorf("--http=%s is every address of this host: the whole network could call", names.Quoted(text)),
			"--http alone listens at the container's gateway")
	}
	return o, nil
}

// HTTPUsageError returns the error for an invalid value of --http.
func HTTPUsageError(text string) error {
	return cli.Hint(fmt.Errorf("--http=%s: want :PORT, ADDRESS or ADDRESS:PORT", names.Quoted(text)), "--http alone listens at the container's gateway")
}

// listenHTTP lets the watcher listen at the gateway of the future container, and stores the variables for the
// container. docker run may call it again after a pull: the address stays the same.
func (l *Launch) listenHTTP(ctx context.Context, api client.APIClient, want Creation) (err error) {
	if !l.Plan.http.wanted {
		return nil
	}
	if l.http.Address == "" {
		if l.http.Address, err = l.httpAddress(ctx, api, want); err != nil {
			return err
		}
	}
	if !l.Plan.http.cloister {
		return nil
	}
	if l.imageEnv, err = imageEnv(ctx, api, want); err != nil {
		return err
	}
	token, err := dir.ReadPlain(state.HTTPTokenFile(l.Dir))
	l.http.Guardian, l.http.Token = http.GuardianHost, strings.TrimSpace(string(token))
	return err
}

// httpAddress finds the gateway of the future container, and lets the watcher listen there. It returns the watcher's
// address.
func (l *Launch) httpAddress(ctx context.Context, api client.APIClient, want Creation) (address string, err error) {
	wanted := l.Plan.http
	at, err := gatewayOf(ctx, api, want.Host.NetworkMode)
	if err != nil {
		return "", err
	}
	if wanted.addr.IsValid() && wanted.addr != at.Addr {
		return "", cli.Hint(fmt.Errorf("--http: %s is not the container's gateway, which is %s", wanted.addr, at.Addr), "--http alone listens there")
	}
	at.Port = wanted.port
	<-l.Ready
	if l.Err != nil {
		return "", l.Err
	}
	if address, err = l.Conn.HTTP(ctx, at); err != nil {
		return "", cli.Hint(fmt.Errorf("--http: %w", err), "--http=:PORT names another port")
	}
	return address, nil
}

// gatewayOf returns the address at which a container in a network reaches this host.
func gatewayOf(ctx context.Context, api client.APIClient, mode container.NetworkMode) (at watch.Gateway, err error) {
	switch {
	case mode.IsNone():
		return at, cli.Hint(errors.New("--http: a container without a network (--network none) reaches no address"), "omit --http: commands need no network")
	case mode.IsHost():
		return at, cli.Hint(errors.New("--http: a container on the host's network (--network host) has no gateway, and all of this host could call"), "omit --network host or --http")
	case mode.IsContainer():
		return at, cli.Hint(errors.New("--http: the network is another container's (--network container:...)"), "use a network that both are in: docker network create")
	}
	name := mode.NetworkName()
	if mode.IsDefault() || name == "" {
		name = network.NetworkBridge
	}
	n, err := api.NetworkInspect(ctx, name, network.InspectOptions{})
	if err != nil {
		return at, fmt.Errorf("--http: look at network %s: %v", names.Quoted(name), err) // not wrapped: for a NotFound error, docker run would pull an image
	}
	if n.Driver != "bridge" {
		return at, cli.Hint(fmt.Errorf("--http: network %s is of the driver %s: its gateway is not this host", names.Quoted(n.Name), names.Quoted(n.Driver)), "use a network of the driver bridge")
	}
	if at.Device = n.Options["com.docker.network.bridge.name"]; at.Device == "" {
		at.Device = "br-" + n.ID[:min(len(n.ID), 12)]
	}
	if at.Addr, err = bridgeAddress(at.Device, n.IPAM.Config); err != nil {
		return at, cli.Hint(fmt.Errorf("--http: network %s: %w", names.Quoted(n.Name), err), "omit --http: commands need no network")
	}
	return at, nil
}

// bridgeAddress returns this host's address on a bridge device. This is the network's gateway or, if the engine does
// not report it, an address in the network's subnet. Without such an address, the network is not on this host.
func bridgeAddress(device string, networks []network.IPAMConfig) (addr netip.Addr, err error) {
	dev, err := net.InterfaceByName(device)
	if err != nil {
		return addr, fmt.Errorf("this host has no bridge %s: the engine is elsewhere, or in a network of its own", names.Quoted(device))
	}
	addrs, _ := dev.Addrs() // no addresses on an error
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || !isGateway(p.Addr(), networks) || addr.IsValid() && !p.Addr().Is4() {
			continue
		}
		addr = p.Addr()
	}
	if !addr.IsValid() {
		return addr, fmt.Errorf("its gateway is no address of this host's %s", names.Quoted(device))
	}
	return addr, nil
}

// isGateway reports whether addr is the gateway of one of networks. If the engine reports no gateway of a network, each
// address of its subnet is accepted.
func isGateway(addr netip.Addr, networks []network.IPAMConfig) bool {
	for _, c := range networks {
		if c.Gateway != "" {
			if gw, err := netip.ParseAddr(c.Gateway); err == nil && gw == addr {
				return true
			}
			continue
		}
		if subnet, err := netip.ParsePrefix(c.Subnet); err == nil && subnet.Contains(addr) {
			return true
		}
	}
	return false
}
