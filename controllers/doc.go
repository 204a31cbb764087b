// Package controllers wires the loops together: one folder each.
//
//   - policies turns what administrators write into the Book, and is the fence before every deletion.
//   - objects is the Source and Remover of API objects.
//   - retention keeps the facts, waits until subjects are due, and has them removed.
//   - report writes status, Events and gauges.
//   - images is what the agent of a node has for images: history knows since when each is unused.
//
// The other folders serve them: index holds the facts, lease knows how sure leadership is, metrics is what is exported.
package controllers
