package command

const explainHelp = `Say everything there is to say about one object: whether and when it goes, and by which rule; of each rule that selects
it every expression and its parts with their values, the settings and where each is written, and its rank; why other
rules about its kind do not select it; what keeps it; and what would change that. Nothing is deleted.

KIND is a kind, resource or short name, as for kubectl get. The object is read from the cluster, and judged by the
cluster's policies, each in its own mode. Policies in files count as enforced, unless they are Suspended, and replace
those of the same name. Where a rule ranks (keepNewest, capacity), the others of its kind are read too, so that the rank
is that of this moment.

With objects in the files only the files are read, as by preview; without KIND/NAME they must hold one object beside
policies, namespaces, quotas and nodes. There KIND is a kind, or its usual singular or plural.

With --node and the name of a node the page is about an image there, and it is the agent on the node that is asked, by way
of the API server. That takes the rights to list Pods and to get pods/proxy in the namespace of the agents, and to list
policies. An image goes by its ID, a tag or a digest, in files too, or by a part of it that only one image has: the end of
a tag, such as image/app:v1, or at least twelve letters of the ID.

- A policy that waits for approval, by its status, keeps what its rules find eligible; a preview ignores that.
- What a RetentionPolicy that is a dry run would change is shown beside what is.
- What refers to a ConfigMap or Secret is shown where a rule about its kind reads references: the first ten, and how many
  more. In a cluster every kind that may refer is listed for that.
- A rule without startTime counts from the mark on the object. Without one its time to live starts at --at.
- The rights of a RetentionPolicy's ServiceAccount are not checked; what the policy's status says of them is shown.

- If you may not list the ClusterRetentionPolicies, the page says so, is marked INCOMPLETE, and goes on with the
  RetentionPolicies of the namespace. It names the commands by which an administrator permits it.

JSON and YAML have the same:

  {"at", "apiVersion", "kind", "namespace", "name", "creationTimestamp",
   "image": {"tags": [], "digests": [], "bytes", "pinned", "inUse", "firstSeen", "lastUsed", "unusedSince"},
   "references": {"count", "by": [{"kind", "namespace", "name"}], "unknown", "since"},
   "verdict": {"action": "Delete|Wait|Keep", "reason", "policy", "rule", "startTime", "ttl", "dueTime", "message"},
   "rules": [{"policy", "rule", "mode", "says": "due|keep|nothing", "reason", "startTime", "dueTime", "problems": [],
     "settings": [{"name", "value", "from", "note"}],
     "rank": {"group", "place", "of", "keep", "unknown", "capacity": {"count", "max", "allNamespaces"}},
     "trial": {"retentionPolicies": [], "says", "reason", "startTime", "dueTime", "settings": []},
     "expressions": [{"field", "text", "tag", "value", "error", "skipped",
       "parts": [{"text", "variable", "line", "column", "depth", "value", "error", "skipped"}]}]}],
   "otherRules": [{"policy", "rule", "mode", "why", "message"}],
   "blocks": [{"reason", "message", "remedy"}], "changes": [{"what", "at", "stays"}],
   "incomplete": {"errors": [], "grant": ["commands that permit what you may not read"]},
   "judgedAsEnforced": ["policies whose files say DryRun"]}

Exit codes: 0 the object was judged, whatever the verdict; 1 a policy in the files is invalid, an expression failed on
the object, what refers to it is unknown, or the page is incomplete and no policy is in files; 2 wrong usage, no such
object, or a file or cluster that cannot be read.`

const explainExamples = `  # Why is this Job still there?
  kubectl sunset explain job/report -n team-a

  # What would become of it by a new policy, and in a week?
  kubectl sunset explain job/report -n team-a -f policy.yaml --at +7d

  # Without a cluster: one object of those in the files
  kubectl sunset explain job/report -f policy.yaml -f jobs.yaml

  # What uses this ConfigMap?
  kubectl sunset explain configmap/site -n team-a

  # Why is this image still on the node?
  kubectl sunset explain image/nginx:1.25 --node worker-1

  # When does it go? For a program
  kubectl sunset explain job/report -n team-a -o json | jq -r .verdict.dueTime`
