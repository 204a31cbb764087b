// Package chart holds charts/sunset to what it promises: that it renders, that it carries what the repository has, that a real
// API server takes it, and that the rights it gives are all that Sunset asks for and no more.
package chart
