// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// cacheEnv overrides the directory under which binaries are cached.
const cacheEnv = "SUNSET_CACHE"

// cacheRoot is the directory of all versions of all binaries.
func cacheRoot() (string, error) {
	if dir := os.Getenv(cacheEnv); dir != "" {
		return filepath.Abs(filepath.Join(dir, "controlplane"))
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory (set %s): %w", cacheEnv, err)
	}
	return filepath.Join(dir, "sunset", "controlplane"), nil
}

// cacheKey names the set of binaries that this go.mod, these flags and this toolchain produce. The versions make the name
// readable. The hash ensures that any change of the inputs misses the cache.
func (h home) cacheKey(mod []byte, flags []string) (string, error) {
	var key []string
	for _, c := range h.names {
		module := recipes[c].module
		version, err := requiredVersion(mod, module)
		if err != nil {
			return "", err
		}
		key = append(key, strings.TrimPrefix(string(c), "kube-")+"-"+version)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s/%s %q\n%s", runtime.Version(), runtime.GOOS, runtime.GOARCH, flags, mod)
	return strings.Join(append(key, hex.EncodeToString(hash.Sum(nil))[:16]), "_"), nil
}
