// Package upgrade has what earlier versions of Sunset really wrote: objects of a cluster and the state of a node agent. Tests
// show that today's code goes on from there, and that it leaves alone what only a newer version can understand.
package upgrade
