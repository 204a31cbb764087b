// Package controllers wires the loops together: one folder each.
//
//   - policies turns what administrators write into the Book, and is the fence before every deletion.
//   - objects is the Source and Remover of API objects.
//   - retention keeps the facts, waits until subjects are due, and has them removed.
//   - report writes status, Events and gauges.
//   - nodes tells the agents on nodes what the rules about images are, and takes in what they report.
//   - images is the Source and Remover of the images of a node: cri speaks to its container runtime, history knows since when
//     each image is unused.
//   - agent wires what runs on a node.
//
// The other folders serve them: index holds the facts, lease knows how sure leadership is, metrics is what is exported,
// version is which build this is.
package controllers
