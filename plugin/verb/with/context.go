// SPDX-License-Identifier: Apache-2.0

package with

import (
	"errors"
	"fmt"
	"io"

	"github.com/containerd/errdefs"
	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/plugin/apiproxy"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// PruneAPIProxies returns a function that removes the sockets and contexts of API proxies that were killed.
func PruneAPIProxies(dockerCLI command.Cli) func(*state.Store) error {
	return func(s *state.Store) error {
		return apiproxy.Prune(s, func(c apiproxy.Context) error { return removeContext(dockerCLI.ContextStore(), c) })
	}
}

// createContext creates a context for the API proxy. It never changes a context that exists.
func createContext(contexts store.Store, sock *apiproxy.Socket, name string) error {
	err := store.ValidateContextName(name)
	if err == nil && name == command.DefaultContextName {
		err = errors.New("it is docker's own")
	}
	if err != nil {
		return fmt.Errorf("--context %s: %w", names.Quoted(name), err)
	}
	if _, err := contexts.GetMetadata(name); !errdefs.IsNotFound(err) {
		if err != nil {
			return fmt.Errorf("--context %s: %w", names.Quoted(name), err)
		}
		return cli.Hint(fmt.Errorf("--context %s: a context of this name exists", names.Quoted(name)), "docker context ls")
	}
	if err := sock.Record(apiproxy.Context{Name: name, Host: sock.Host()}); err != nil {
		return err
	}
	return contexts.CreateOrUpdate(store.Metadata{
		Name:      name,
		Metadata:  command.DockerContext{Description: "docker hostexec with: sessions for containers, as long as it runs"},
		Endpoints: map[string]any{docker.DockerEndpoint: docker.EndpointMeta{Host: sock.Host()}},
	})
}

// removeContext removes a context of an API proxy, unless another context has taken its name. If the context is the
// current one, docker falls back to the default context.
func removeContext(contexts store.Store, c apiproxy.Context) error {
	meta, err := contexts.GetMetadata(c.Name)
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove context %s: %w", names.Quoted(c.Name), err)
	}
	if at, err := docker.EndpointFromContext(meta); err != nil || at.Host != c.Host {
		return nil
	}
	if file := config.LoadDefaultConfigFile(io.Discard); file.CurrentContext == c.Name {
		file.CurrentContext = ""
		if err := file.Save(); err != nil {
			return fmt.Errorf("remove context %s: %w", names.Quoted(c.Name), err)
		}
	}
	return contexts.Remove(c.Name)
}
