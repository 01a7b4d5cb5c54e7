// SPDX-License-Identifier: Apache-2.0

package page

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestVendored checks that third-party files are embedded unchanged, with their licence.
func TestVendored(t *testing.T) {
	sums, err := os.ReadFile("static/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		b, err := static.ReadFile("static/" + name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := sha256.Sum256(b); hex.EncodeToString(got[:]) != sum {
			t.Errorf("static/%s is not the file of SHA256SUMS", name)
		}
		n++
	}
	if licence, err := static.ReadFile("static/LICENSE"); err != nil || n != 2 || !strings.HasPrefix(string(licence), "Zero-Clause BSD") {
		t.Errorf("%d files are vendored, under %.20q, %v", n, licence, err)
	}
}

// TestStatic checks that every listed file is served with its content type. The page loads nothing from
// other origins and has no inline script or style.
//
// Attack 110.
func TestStatic(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /static/{name}", staticFile)
	for name, kind := range types {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/static/"+name, nil))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind || w.Body.Len() == 0 {
			t.Errorf("/static/%s = %d, %s, %d bytes", name, w.Code, w.Header().Get("Content-Type"), w.Body.Len())
		}
	}
	w := httptest.NewRecorder()
	index(w, nil)
	page := w.Body.String()
	for _, part := range []string{"/static/htmx.js", `hx-sse:connect="/events"`} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s", part)
		}
	}
	for _, part := range []string{"<style", " style=", "<script>", "http://", "https://", "javascript:", " onclick"} {
		if strings.Contains(page, part) {
			t.Errorf("the page has %s in it", part)
		}
	}
}
