// SPDX-License-Identifier: Apache-2.0

package command

const previewHelp = `Show which objects would be deleted, and when. The command deletes nothing.

With objects in the files (such as the output of kubectl get -o yaml), the command reads only the files. It says so in a
note, and refuses flags that name a cluster, such as --context. Namespaces have the labels of the Namespace objects in the
files; a namespace without such an object has only the label kubernetes.io/metadata.name. Files may be large: the command
evaluates objects while it reads the file.
With policies alone in the files, the command evaluates the objects of the cluster, of the kinds that the policies target.
Without files, it evaluates the objects of the cluster with the policies of the cluster.

Policies in files are treated as Enforce, unless their mode is Suspend. They replace the policies of the cluster that have
the same name; all other policies of the cluster keep their own mode. An object that only a dry run would delete is Keep
with reason DryRun, and with its due time. An invalid policy keeps the objects that it may select (reason RuleInvalid);
the command prints its problems to standard error.

With policies alone in the files, the command also evaluates each object with the rules in force: the policies of the
cluster, each in its own mode. Below the table it prints the differences by namespace: objects that are newly deleted now
or later, newly kept, or deleted at another time, each with both results. An object that only a dry run would delete
counts as kept. The comparison includes objects that only the replaced policies select, such as those of a rule that you
removed; these are in the diff alone. An object that is due in both cases, or kept in both cases, is not in the diff. If
you have no permission to list the policies of the cluster, the command prints a note to standard error and no diff.

Rules for images apply to the images of one node. With --node and the name of a node, the command queries the agent on the
node, through the API server. Without a cluster, use Image objects in the files or, with --images, the list that
"crictl images -o json" prints on the node. That list does not contain the age or the users of an image: each image counts
as unused from now on, or since --unused-since. The agent never removes an image that a container uses, even if the
preview shows its deletion. The node of the images is the Node object in the files, or in the file that --node names;
without one it is a node without labels. The preview does not show removals for disk pressure, because only the agent
knows the disk usage.

If a rule reads references, the command first finds all references that it asks about: in the objects of the files, or in
the cluster, where it lists every kind that may contain such references. If it cannot list or read some objects, such rules
keep their objects (reason ReferencesUnknown). The controller deletes an object only after 30 seconds without
references; the preview treats this period as over.

A RetentionPolicy replaces the one with the same namespace and name. If all policies in the files are of one namespace, the
preview covers that namespace, and the rules that they change. Rules that rank objects also count the objects that -n and
-l exclude. For a rule without startTime, the TTL starts at the mark on the object, or at --at if the object is not
marked.

The output omits objects that no rule selects. In the table, due times are relative to --at. Below it, each rule has one
line: how many objects it selects, and for the objects that it decides about, how many are due at --at, within an hour, a
day and a week after it, later, and how many are kept. If sizes are known, such as those of PersistentVolumeClaims and
images, the command adds them up. With --prices it also shows what they cost in a month, estimated. In JSON:

  {"apiVersion": "cli.sunset-k8s.io/v1alpha1", "kind": "Preview", "at": "...", "currency": "EUR",
   "verdicts": [{"apiVersion", "kind", "namespace", "name", "action": "Delete|Wait|Keep", "reason",
   "policy", "rule", "startTime", "ttl", "dueTime", "message", "image", "bytes", "estimatedMonthlyCost"}],
   "errors": [{"policy", "rule", "namespace", "name", "message"}],
   "diff": [{"apiVersion", "kind", "namespace", "name", "change": "NewlyDeleted|NewlyKept|Sooner|Later",
   "before": {"action", "reason", "dueTime", "policy", "rule"}, "after": {...}}]}

The field diff is missing if the command did not compare with the rules in force.

-o html writes a page to share: one file that needs no network. It shows how many objects are due on each of the next 30
days by policy, kind and namespace, the changes from the rules in force, and each object with its reason. The tables can be
sorted and filtered in a browser, and the page can be printed.

Exit codes: 0 success, also if objects would be deleted, unless more are due than --fail-on allows; 1 that, or a policy
is invalid, an expression failed on an object, the command could not list a kind or, without files, the
ClusterRetentionPolicies, or could not read references; 2 wrong usage, or a file or cluster that cannot be read.`

const previewExamples = `  # What would a new policy delete from the cluster, now and in a week?
  kubectl sunset preview -f policy.yaml
  kubectl sunset preview -f policy.yaml --at +7d

  # How many Jobs would be newly deleted in each namespace, compared with the rules in force?
  kubectl sunset preview -f policy.yaml -o json |
    jq -r '.diff[] | select(.change == "NewlyDeleted" and .kind == "Job") | .namespace' | sort | uniq -c

  # How much storage would the policy delete, and what does it cost in a month?
  kubectl sunset preview -f policy.yaml --prices PersistentVolumeClaim=0.08 --currency EUR

  # Write a page about it, to show to the teams that own the objects
  kubectl sunset preview -f policy.yaml -o html > preview.html

  # What would the policies of the cluster delete in one namespace?
  kubectl sunset preview -n team-a

  # Preview a copy of the Jobs of the cluster, without a cluster
  kubectl get jobs -A -o yaml > jobs.yaml
  kubectl sunset preview -f policy.yaml -f jobs.yaml

  # Which images would be removed from a node, and when? And with a new policy?
  kubectl sunset preview --node worker-1
  kubectl sunset preview --node worker-1 -f policy.yaml

  # Without a cluster: which images would be removed if nothing used them from now on? And in 30 days?
  crictl images -o json > images.json
  kubectl get node worker-1 -o yaml > node.yaml
  kubectl sunset preview -f policy.yaml --images images.json --node node.yaml
  kubectl sunset preview -f policy.yaml --images images.json --node node.yaml --at +30d

  # Count the objects by reason
  kubectl sunset preview -f policy.yaml -o json | jq -r '.verdicts[].reason' | sort | uniq -c`
