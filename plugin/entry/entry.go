// SPDX-License-Identifier: Apache-2.0

// Package entry runs the parts of the program that need nothing of docker's command line:
//
//	docker-hostexec docker-cli-plugin-metadata   docker asks what a plugin is, before each command
//	hostexec-keeper ...                          a session's keeper
//	hostexec-monitor ...                         the process between a terminal and its command
//
// It runs them while packages are initialized (as runc does with its init), and then ends the process. Most of docker's
// packages are initialized later: that is half of a start, and a third of a keeper's memory. So this package
// imports little. What it imports is initialized before it.
package entry

import (
	"encoding/json"
	"io"
	"os"
	"slices"

	"github.com/docker/cli/cli-plugins/metadata"

	"github.com/docker-hostexec/hostexec/exec/proctree"
)

// Version is the version of this build; the Makefile sets it.
var Version = "0.0.0-dev"

// Metadata is what docker shows of the plugin.
func Metadata() metadata.Metadata {
	return metadata.Metadata{
		SchemaVersion:    "0.1.0", // older versions of docker accept no other
		Vendor:           "docker-hostexec",
		Version:          Version,
		ShortDescription: "Let containers call commands of this host",
		URL:              "https://github.com/docker-hostexec/hostexec",
	}
}

func init() {
	if code, ours := run(os.Args, os.Stdout); ours {
		os.Exit(code)
	}
}

// run runs the part of the program that args name, and reports whether they name one.
func run(args []string, out io.Writer) (code int, ours bool) {
	switch {
	case slices.Equal(args[min(1, len(args)):], []string{metadata.MetadataSubcommandName}):
		return describe(out), true
	case len(args) == 0:
		return 0, false
	case args[0] == proctree.MonitorName: // only this program uses these names, to start itself
		return proctree.Monitor(args), true
	case args[0] == proctree.KeeperName:
		return runKeeper(args[1:]), true
	}
	return 0, false
}

// describe prints the plugin's metadata, as docker's own plugin package does.
func describe(out io.Writer) int {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "     ")
	if err := enc.Encode(Metadata()); err != nil {
		return 1
	}
	return 0
}
