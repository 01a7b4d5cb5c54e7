// SPDX-License-Identifier: Apache-2.0

// Package metadata prints the plugin's metadata, which docker requests before each command by
// docker-cli-plugin-metadata.
//
// It prints them while packages are initialized (as runc does with its init), and then ends the process. A package is
// initialized as soon as its imports are, and this package has few imports. The initialization of all packages would
// double the time that docker waits.
package metadata

import (
	"os"
	"strconv"
)

// Version is the version of this build; the Makefile sets it.
var Version = "0.0.0-dev"

// The metadata that docker shows.
const (
	Schema = "0.1.0" // older versions of docker accept no other
	Vendor = "docker-hostexec"
	Short  = "Let containers call commands of this host"
	URL    = "https://github.com/docker-hostexec/hostexec"
)

func init() {
	if !metadataRequested(os.Args) {
		return
	}
	if _, err := os.Stdout.WriteString(metadataJSON()); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// metadataRequested reports whether docker requests the metadata.
func metadataRequested(args []string) bool {
	return len(args) == 2 && args[1] == "docker-cli-plugin-metadata"
}

// metadataJSON returns docker's Metadata as JSON. All values are printable ASCII, which Go and JSON quote alike.
func metadataJSON() string {
	return `{"SchemaVersion":` + strconv.Quote(Schema) + `,"Vendor":` + strconv.Quote(Vendor) + `,"Version":` + strconv.Quote(Version) +
		`,"ShortDescription":` + strconv.Quote(Short) + `,"URL":` + strconv.Quote(URL) + "}\n"
}
