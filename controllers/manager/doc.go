// Package manager starts the control loops of the controller, and serves health, metrics and the webhook.
//
// The folders beside it:
//
//   - policyset reads policies and namespaces, compiles rules, and checks before each deletion that nothing has changed; permissions asks
//     what the ServiceAccounts of RetentionPolicies may do.
//   - retention waits until subjects are due, and deletes them; index has the facts about the subjects of one kind, by when each is due, and
//     rank the order of those that rules keep by number or capacity.
//   - kube reads and deletes API objects: listwatch lists and watches a kind, references knows what refers to an object, and referrers
//     watches that.
//   - ledgers records deletions before they happen, for limits and exact counts.
//   - status writes the status of policies, Events and gauges.
//   - admission validates policies before the API server stores them.
//   - node is about images: agent runs on each node; images reads and deletes them, by cri, which speaks to the container runtime, and
//     history, which knows since when each image is unused; debug shows that; hub runs in the controller, sends the rules to the agents
//     and collects what they report.
//   - metrics has everything that is exported.
//   - process has what belongs to any process: lease (how sure leadership is), liveness, features and version.
package manager
