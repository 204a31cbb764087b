// SPDX-License-Identifier: Apache-2.0

package command

const explainHelp = `Explain why one object is deleted or kept, and when. For each rule that selects the object, the output shows every
expression with its parts and values, the settings and where each is set, and the rank of the object. It also shows why
other rules for the kind do not select the object, what blocks its deletion, and possible changes. The command deletes
nothing.

KIND is a kind, resource or short name, as for kubectl get. The command reads the object from the cluster and evaluates
the policies of the cluster, each in its own mode. Policies in files are treated as Enforce, unless their mode is Suspend,
and replace those with the same name. If a rule ranks objects (keepNewest, capacity), the command also reads the other
objects of the kind, and shows the present rank.

With objects in the files, the command reads only the files, as preview does. If you omit KIND/NAME, the files must contain
exactly one object in addition to policies, namespaces, quotas and nodes. For files, KIND is a kind, or its usual singular
or plural.

With --node and the name of a node, the command explains an image on that node. It asks the agent on the node, through the
API server. You need permission to list Pods and to get pods/proxy in the namespace of the agents, and to list policies.
Name an image by its ID, a tag or a digest, or by a part that only one image has: the end of a tag, such as image/app:v1,
or at least twelve characters from the start of the ID. The same names work for images in files.

- A policy whose status says that it waits for approval keeps the objects that its rules find eligible; preview ignores
  approvals.
- If a RetentionPolicy is a dry run, the output also shows what it would change.
- If a rule for the kind reads references, targets or selected, the output shows the first ten references to the object
  and the number of others, its missing targets, and what it selects. In a cluster, the command lists every kind that
  matters for this.
- For a rule without startTime, the TTL starts at the mark on the object, or at --at if the object is not marked.
- For an eligible PersistentVolumeClaim, the output says what happens to its data: in a cluster, the command gets the
  PersistentVolume and reads its reclaim policy. If you have no permission for that, the output says so.
- The command does not check the permissions of the ServiceAccount of a RetentionPolicy; it shows its condition Permitted.
- If you have no permission to list ClusterRetentionPolicies, the output is marked INCOMPLETE, and covers only the
  RetentionPolicies of the namespace. It shows the commands with which an administrator can grant the permission.

JSON and YAML have the same content:

  {"apiVersion": "cli.sunset-k8s.io/v1alpha1", "kind": "Explanation", "at",
   "object": {"apiVersion", "kind", "namespace", "name", "creationTimestamp", "bytes",
     "image": {"tags": [], "digests": [], "bytes", "pinned", "inUse", "firstSeen", "lastUsed", "unusedSince"}},
   "references": {"count", "by": [{"kind", "namespace", "name"}], "unknown", "since"},
   "targets": {"count", "missing": [{"kind", "namespace", "name"}], "more", "unknown"}, "selected": {"count", "unknown"},
   "verdict": {"action": "Delete|Wait|Keep", "reason", "policy", "rule", "startTime", "ttl", "dueTime", "message"},
   "rules": [{"policy", "rule", "mode", "says": "due|keep|nothing", "reason", "startTime", "dueTime", "problems": [],
     "settings": [{"name", "value", "from", "note"}],
     "rank": {"group", "place", "of", "keep", "unknown", "capacity": {"count", "max", "allNamespaces"}},
     "ifEnforced": {"retentionPolicies": [], "says", "reason", "startTime", "dueTime", "settings": []},
     "expressions": [{"field", "text", "tag", "value", "error", "skipped",
       "parts": [{"text", "variable", "line", "column", "depth", "value", "error", "skipped"}]}]}],
   "otherRules": [{"policy", "rule", "mode", "why", "message"}],
   "blocks": [{"reason", "message", "remedy"}], "changes": [{"what", "at", "stays"}],
   "incomplete": {"errors": [], "grant": ["commands that grant the missing permissions"]},
   "evaluatedAsEnforced": ["policies whose files say DryRun"]}

Exit codes: 0 success, whether the object is deleted or kept; 1 a policy in the files is invalid, an expression failed on
the object, its references are unknown, or the output is incomplete and no file contains a policy; 2 wrong usage, no such
object, or a file or cluster that cannot be read.`

const explainExamples = `  # Why is this Job still there?
  kubectl sunset explain job/report -n team-a

  # The same, with the other name of the command
  kubectl sunset why job/report -n team-a

  # Would a new policy delete it, and what is the result in a week?
  kubectl sunset explain job/report -n team-a -f policy.yaml --at +7d

  # Without a cluster: explain one of the objects in the files
  kubectl sunset explain job/report -f policy.yaml -f jobs.yaml

  # What uses this ConfigMap?
  kubectl sunset explain configmap/site -n team-a

  # Why is this image still on the node?
  kubectl sunset explain image/nginx:1.25 --node worker-1

  # When is it due? Output for a program
  kubectl sunset explain job/report -n team-a -o jsonpath='{.verdict.dueTime}'`
