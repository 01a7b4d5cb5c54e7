// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"encoding/json"
	"testing"

	"github.com/docker/cli/cli-plugins/metadata"
)

func TestMetadataRequested(t *testing.T) {
	if args := []string{"docker-hostexec", metadata.MetadataSubcommandName}; !metadataRequested(args) {
		t.Errorf("%q is not taken for docker's request", args)
	}
	for _, args := range [][]string{
		nil, {"docker-hostexec"}, {"docker-cli-plugin-metadata"},
		{"docker-hostexec", "docker-cli-plugin-metadata", "--help"}, {"docker-hostexec", "hostexec", "docker-cli-plugin-metadata"},
	} {
		if metadataRequested(args) {
			t.Errorf("%q is taken for docker's request", args)
		}
	}
}

func TestMetadataJSON(t *testing.T) {
	var got metadata.Metadata
	want := metadata.Metadata{SchemaVersion: Schema, Vendor: Vendor, Version: Version, ShortDescription: Short, URL: URL}
	if err := json.Unmarshal([]byte(metadataJSON()), &got); err != nil || got != want {
		t.Errorf("docker reads %+v (%v), want %+v", got, err, want)
	}
}
