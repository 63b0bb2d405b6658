package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed assets templates
var embedded embed.FS

// file is one embedded file as it is served.
type file struct {
	content []byte
	mime    string
	// version changes with the content.
	version string
}

// mime is the type of an embedded file; the system's own table is not
// asked, because it differs.
func mime(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return "text/plain; charset=utf-8"
	}
}

// readFiles reads what is under assets, by its path there.
func readFiles() (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(embedded, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := embedded.ReadFile(name)
		digest := sha256.Sum256(content)
		files[strings.TrimPrefix(name, "assets/")] = file{content, mime(name), hex.EncodeToString(digest[:6])}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read embedded files: %w", err)
	}
	return files, nil
}

// fileOf returns the name of the file that a request asks for, "" without one.
func (d *Dashboard) fileOf(r *http.Request) string {
	name, found := strings.CutPrefix(r.URL.Path, "/assets/")
	if r.URL.Path == "/favicon.ico" {
		name, found = "icon.svg", true
	}
	if _, known := d.files[name]; !found || !known {
		return ""
	}
	return name
}

// asset serves a file. Only an address with the file's version may be kept by
// the browser.
func (d *Dashboard) asset(w http.ResponseWriter, r *http.Request) {
	name := d.fileOf(r)
	if name == "" {
		d.nothing(w, r)
		return
	}
	served := d.files[name]
	w.Header().Set("Content-Type", served.mime)
	if r.URL.Query().Get("v") == served.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(served.content)
}

// assetURL is the address of a file for use in a page.
func (d *Dashboard) assetURL(name string) (string, error) {
	found, ok := d.files[name]
	if !ok {
		return "", fmt.Errorf("there is no file %q", name)
	}
	return "/assets/" + name + "?v=" + found.version, nil
}
