// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// registry serves images on localhost, which engines trust, so that docker run has
// something to pull. It has an image for each of names, or else for all that parityRows pull but
// none; no two have a layer in common.
func registry(t testing.TB, names ...string) string {
	t.Helper()
	box := newRootfs(t)
	box.copy(t, find(t, "busybox"), "/bin/busybox")
	for _, name := range []string{"sh", "echo"} {
		box.link("/bin/"+name, "busybox")
	}
	srv := httptest.NewServer(registryHandler(t, box, names))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

// registryHandler is the registry's handler. Images are made when the test begins: a handler cannot
// fail a test.
func registryHandler(t testing.TB, box *rootfs, names []string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/{$}", func(http.ResponseWriter, *http.Request) {})
	if len(names) == 0 {
		for _, row := range parityRows {
			ref, ok := row.pulls()
			if name := strings.TrimPrefix(ref, "{REG}/"); ok && name != "none" {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		addImage(t, mux, box, name)
	}
	return mux
}

// addImage puts an image of one layer on the registryHandler.
func addImage(t testing.TB, mux *http.ServeMux, box *rootfs, name string) {
	t.Helper()
	box.text("/etc/who", name)
	tar := box.pack(t)
	var layer bytes.Buffer
	z := gzip.NewWriter(&layer)
	_, err := z.Write(tar)
	check(t, err)
	check(t, z.Close())
	config := encode(t, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Env": []string{"PATH=/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(tar)}},
	})
	const docker = "application/vnd.docker."
	manifest := encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": docker + "distribution.manifest.v2+json",
		"config": map[string]any{"mediaType": docker + "container.image.v1+json", "size": len(config), "digest": digest(config)},
		"layers": []any{map[string]any{"mediaType": docker + "image.rootfs.diff.tar.gzip", "size": layer.Len(), "digest": digest(layer.Bytes())}},
	})
	serve := func(path, kind string, data []byte) {
		mux.HandleFunc("GET /v2/"+name+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Docker-Content-Digest", digest(data))
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			if r.Method == http.MethodGet {
				w.Write(data) // to whom hung up is nothing to say
			}
		})
	}
	for _, ref := range []string{"latest", digest(manifest)} {
		serve("/manifests/"+ref, docker+"distribution.manifest.v2+json", manifest)
	}
	serve("/blobs/"+digest(config), "application/octet-stream", config)
	serve("/blobs/"+digest(layer.Bytes()), "application/octet-stream", layer.Bytes())
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	check(t, err)
	return b
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
