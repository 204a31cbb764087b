// Package cri speaks to a container runtime, containerd or CRI-O, about its images, over the socket on which the
// kubelet speaks to it.
//
// It promises that every call ends by a deadline of its own, whatever the runtime does; that a runtime which is not
// there, or comes back, needs nothing but the next call; that an answer is whole or an error, because from half a list
// one would conclude that an image is not used; and that Uses names every image that something on the node uses, by
// every name the runtime knows for it, as no runtime promises to refuse the removal of one.
//
// It refuses to remove by anything but a full image ID: a tag would mean another image a moment later, and a short ID
// is a prefix. It never pulls, and never reaches out to a network.
package cri
