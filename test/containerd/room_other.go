//go:build !linux

package containerd

func hasRoom(string, uint64) bool { return false }
