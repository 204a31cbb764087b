// Package scene is the world of one fault scenario: namespaces and policies of its own on a real control plane with two API
// servers, replicas of the controller that are processes behind a gate each, and a verdict at its end.
//
// It promises: a scene's replicas see no policies but the scene's, so that scenes run side by side; when the test ends its
// replicas are stopped and everything they did is judged from the API server's audit log and etcd's history; a run in
// which an expected fault never fired fails as void; a run that fails prints the command that repeats it.
//
// It refuses: to share a control plane with a scene that troubles whole servers (see [Options.Alone]).
package scene
