package command

const previewHelp = `Say what would be deleted and when. Nothing is deleted.

With objects in the files (such as the output of kubectl get -o yaml) only the files are read: namespaces have the
labels that Namespace objects in the files give them, any other carries only its name label, kubernetes.io/metadata.name.
Files may be large: objects are judged as they stream by.
With policies alone in the files, the cluster's objects of the kinds they target are judged, page by page.
Without files, the cluster's policies judge the cluster's objects.

Policies in files count as enforced, unless they are Suspended: that is what a preview is for. They replace the
cluster's policies of the same name; the cluster's others act in their own mode. What only a dry run would delete is
shown as Keep for the reason DryRun, with its due time. An invalid policy keeps what it may be about (reason
RuleInvalid); its problems go to standard error.

With policies alone in the files, each object is also judged by the rules in force: the cluster's policies, each in its
own mode. Below the table is what changes, by namespace: what newly goes now or later, goes sooner or later, or is newly
kept, each with what becomes of it and what was to. What is deleted now or later goes; what only a dry run would delete
does not. Objects that only the replaced policies are about are compared too, such as those of a rule that is dropped;
they are in the diff alone. What is due either way, or kept either way, is no change. Who may not list the cluster's
policies gets a note on standard error, and no diff.

Rules about images of nodes judge those of one node: with --node and its name, the agent there is asked, by way of the
API server. Offline they are Image objects in the files, or with --images the list that "crictl images -o json" writes on
the node. That list does not say how long an image has been there nor whether anything uses it: each counts as unused
from now on, or since --unused-since. An image that a container uses is never removed, whatever is shown here. A Node in
the files, or in the file that --node names, is the node they are on; without one it is a node without labels. Images for
want of space go only on the node, where it is known how full it is.

Where a rule reads references, what refers to ConfigMaps and Secrets is gathered first: from all objects in the files, or
from the cluster, where every kind that may refer is listed. What cannot be listed or read leaves that unknown, and such
rules keep (reason ReferencesUnknown). The 30 seconds for which nothing must have referred to an object count as over.

RetentionPolicies replace those of the same namespace and name; files with nothing but those of one namespace ask about
that namespace and the rules that they change. What -n and -l leave out still counts where rules rank. A rule without
startTime counts from the mark on the object, and from --at where there is none.

Objects that no rule selects are left out. In the table, due times are relative to --at; below it, each rule has one
line: how many objects it selects, and of those it decided about, how many are due by --at, within an hour, a day and
a week after it, later, and how many are kept. In JSON:

  {"at": "...", "verdicts": [{"apiVersion", "kind", "namespace", "name", "action": "Delete|Wait|Keep", "reason",
   "policy", "rule", "startTime", "ttl", "dueTime", "message", "image", "bytes"}],
   "errors": [{"policy", "rule", "namespace", "name", "message"}],
   "diff": [{"apiVersion", "kind", "namespace", "name", "change": "NewlyGoes|NewlyKept|Sooner|Later",
   "before": {"action", "reason", "dueTime", "policy", "rule"}, "after": {...}}]}

There is a diff only where the rules in force were compared with.

Exit codes: 0 all objects were judged, whatever the verdicts; 1 a policy is invalid, an expression failed on an object,
a kind or, without files, the ClusterRetentionPolicies could not be listed, or what an object refers to could not be
read; 2 wrong usage, or a file or cluster that cannot be read.`

const previewExamples = `  # What would a new policy delete from the cluster, now and in a week?
  kubectl sunset preview -f policy.yaml
  kubectl sunset preview -f policy.yaml --at +7d

  # How many Jobs would newly go in each namespace, against the rules in force?
  kubectl sunset preview -f policy.yaml -o json |
    jq -r '.diff[] | select(.change == "NewlyGoes" and .kind == "Job") | .namespace' | sort | uniq -c

  # What do the cluster's own policies do in one namespace?
  kubectl sunset preview -n team-a

  # Judge a copy of the cluster's Jobs, without a cluster
  kubectl get jobs -A -o yaml > jobs.yaml
  kubectl sunset preview -f policy.yaml -f jobs.yaml

  # What would go from a node, and when? And by a new policy?
  kubectl sunset preview --node worker-1
  kubectl sunset preview --node worker-1 -f policy.yaml

  # Without a cluster: what would go, and when, if none of its images were used from now on? And in 30 days?
  crictl images -o json > images.json
  kubectl get node worker-1 -o yaml > node.yaml
  kubectl sunset preview -f policy.yaml --images images.json --node node.yaml
  kubectl sunset preview -f policy.yaml --images images.json --node node.yaml --at +30d

  # Count what would go, by reason
  kubectl sunset preview -f policy.yaml -o json | jq -r '.verdicts[].reason' | sort | uniq -c`
