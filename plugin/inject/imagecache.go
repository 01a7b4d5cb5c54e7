// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker-hostexec/hostexec/exec/dir"
	"github.com/docker-hostexec/hostexec/exec/names"
)

// ImageFile describes the file of an image at a path. It is a finding about the image.
type ImageFile struct {
	Exists bool   `json:"exists"`
	Link   string `json:"link,omitempty"` // target of a symbolic link
}

var imageID = names.Form{Chars: "0-9a-f", Min: 64, Max: 64}

// isDigest reports whether image is a content digest. The content of such an image never changes.
func isDigest(image string) bool {
	hex, ok := strings.CutPrefix(image, "sha256:")
	return ok && imageID.Matches(hex)
}

// LoadImageFiles returns the stored findings about an image, by path. The map is empty, not nil, if there are none
// or they cannot be read.
func LoadImageFiles(home, image string) map[string]ImageFile {
	found := map[string]ImageFile{}
	if !isDigest(image) {
		return found // it must not become a file name
	}
	b, err := dir.ReadPlain(imageCacheFile(home, image))
	if err == nil && json.Unmarshal(b, &found) == nil && found != nil {
		return found
	}
	return map[string]ImageFile{}
}

// SaveImageFiles stores findings about an image. If several runs write at the same time, the last one wins.
func SaveImageFiles(home, image string, found map[string]ImageFile) error {
	if !isDigest(image) {
		return nil // without a digest the findings cannot be cached
	}
	b, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("remember image: %w", err)
	}
	file := imageCacheFile(home, image)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("remember image: %w", err)
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return fmt.Errorf("remember image: %w", err)
	}
	defer root.Close()
	return writeText(root, filepath.Base(file), 0o600, b)
}

func imageCacheDir(home string) string { return filepath.Join(home, "images") }

func imageCacheFile(home, image string) string {
	return filepath.Join(imageCacheDir(home), strings.TrimPrefix(image, "sha256:")+".json")
}
