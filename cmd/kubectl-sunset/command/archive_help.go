// SPDX-License-Identifier: Apache-2.0

package command

const archiveExitCodes = `

Exit codes: 0 success; 1 the command found a problem, a difference, or nothing to print or restore, or it could not read
all of the archive; 2 wrong usage, or an archive or cluster that cannot be read.`

const archiveHelp = `Find the objects that policies have archived before they deleted them, print them and their logs, and restore them.

The commands read the archive of a RetentionArchive of the cluster, or the one at --url. They use the credentials for
the store that your environment has, as the programs of its provider do, such as AWS_PROFILE. If the RetentionArchive
names a Secret with credentials and you have permission to get it, they use those. To read an encrypted archive, give
the file with your private key of age with --identity.

If objects of the bucket are damaged, or encrypted for others, ls, get, logs, diff and restore leave them out, name them
on standard error, and go on; the exit code is 1.` + archiveExitCodes

const archiveExamples = `  # What was deleted in this namespace in the last week?
  kubectl sunset archive ls -n team-a --since 7d

  # Bring a Job back
  kubectl sunset archive restore job/report -n team-a --yes`

const archiveSelectionHelp = `

Arguments name kinds and objects as in kubectl get. Without -n or -A, the command selects objects in the namespace of
the kubeconfig; with --url, it selects those of all namespaces. If a rule archives dependents, you can name these too: a
Pod is in the record of its Job. Labels, --uid and --cel are about the Job then. With -n, the command finds dependents of
cluster-scoped objects only by their names. It leaves out records of versions that Sunset did not delete, unless you use
--kept. If you name an object that has no record, the command says so, and the exit code is 1.

--cel selects records by an expression. The variable record has apiVersion, group, kind, namespace, name, uid,
resourceVersion, labels, dependents, policy, rule, reason, outcome, dueTime, archivedAt, bytes, result and segment. The
variable object is the archived object; if you use it, the command reads the whole records, which takes longer. If the
expression fails on a record, the command ends: read fields that some objects lack as in record.labels.?team.` + archiveExitCodes

const archiveLsHelp = `List archived objects, the newest first, with what happened to them and by which rule. The command reads only the index
of the archive. -o html writes a page to share: one file that needs no network. Without records, the exit code is 0,
unless you name an object, as in kubectl get.` + archiveSelectionHelp

const archiveLsExamples = `  # What was deleted in the namespace team-a in the last week?
  kubectl sunset archive ls -n team-a --since 7d

  # Which failed Jobs did a policy delete in November?
  kubectl sunset archive ls jobs -A --policy batch --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z --cel 'record.outcome == "Failed"'

  # Which Jobs had more than ten Pods at a time?
  kubectl sunset archive ls jobs -A --cel 'object.?spec.parallelism.orValue(1) > 10'

  # List an archive without its cluster, as a page to share
  kubectl sunset archive ls --url 's3://backups/cluster-1?region=eu-central-1' -o html > archive.html`

const archiveGetHelp = `Print archived objects as YAML: as they were right before they were deleted, except for redacted values. With --record,
print the whole records: with dependents, Events, logs, the policy and the rule.` + archiveSelectionHelp

const archiveGetExamples = `  # Print a deleted Job
  kubectl sunset archive get job/report -n team-a

  # Print one of its Pods, which the record of the Job contains
  kubectl sunset archive get pod/report-x7k2p -n team-a

  # Why was it deleted, and which Events were about it?
  kubectl sunset archive get job/report -n team-a --record -o json`

const archiveLogsHelp = `Print the logs of containers in records. Rules archive them if archive.logs is set. With more than one log, each line
begins with the Pod and the container. If no log has text, the exit code is 1.` + archiveSelectionHelp

const archiveLogsExamples = `  # Print the logs of all Pods of a deleted Job
  kubectl sunset archive logs job/report -n team-a

  # Print the log of one container of one Pod
  kubectl sunset archive logs pod/report-x7k2p -n team-a -c main`

const archiveDiffHelp = `Compare archived objects with the objects of the same names in the cluster, as kubectl diff does. Of several records of
an object, the command compares the newest. It leaves out fields that only the API server sets, such as uid. Of Secrets,
it compares only metadata.` + archiveSelectionHelp

const archiveDiffExamples = `  # How does the ConfigMap differ from the one that was deleted?
  kubectl sunset archive diff configmap/settings -n team-a`

const archiveVerifyHelp = `Read the whole archive and check it: that every object has the digest in its name, that every record can be decoded, and
that no segment is missing that the index names. Segments of days older than spec.retain count as expired; with --url, or
without spec.retain, those that are older than all others do. Of objects that it cannot decrypt, the command checks only
the digests: of an encrypted archive, it finds no missing segments without --identity.` + archiveExitCodes

const archiveVerifyExamples = `  # Is the archive intact?
  kubectl sunset archive verify`

const archiveRestoreHelp = `Create archived objects again. Without --yes, the command shows which objects it would create, and how they would differ
from the archived ones. It has the API server check them, with requests that are dry runs, and changes nothing.

It never replaces an object. It leaves out fields that the API server sets and, unless you use --finalizers, finalizers.
It keeps references to owners that exist, and sets references between objects that it restores together; it removes all
others, because garbage collection would delete the objects. Jobs, and similar kinds of other projects, come back
suspended, so that they do not run again. Custom resources that ran to completion in another way are not restored,
unless you use --finished. Dependents are not restored if their controller, or only owner, is not, or comes back
suspended: they could run alone. Pods and VolumeSnapshots are not restored; "archive get" prints them. Volumes have no
data in the archive: if a VolumeSnapshot has that of a claim, "kubectl sunset restore" restores the claim. Every restored
object has a hold, and annotations that name its record. The text names what differs, and why an object is not restored.
Of several records of one name, the newest is restored, without an error for the others. If objects could not be
restored, you can repeat the command after you have removed the cause: it continues with what it has not restored.

Without names of kinds, it restores all kinds: of a namespace with -n, together with the Namespace itself if that was
archived; or everything that a policy deleted, with --policy, --since and --until. Without names of objects or --uid, it
restores only objects with the results deleted and gone, and with --kept also kept. It restores nothing without a
selection; -A selects the whole archive. Namespaces, CustomResourceDefinitions and owners come first. The
cluster must serve the kinds of the objects in the versions of the records, unless the command restores their
CustomResourceDefinitions too. You need permission to create the objects, also for a dry run, and to get their owners.
If you interrupt the command with Ctrl-C, it completes the present object and prints what it has restored and what it has
not, with exit code 130.` + archiveSelectionHelp

const archiveRestoreExamples = `  # What would come back?
  kubectl sunset archive restore job/report -n team-a

  # Undo what a policy deleted in the last two hours
  kubectl sunset archive restore -A --policy batch --since 2h --yes

  # Restore a whole namespace
  kubectl sunset archive restore -n team-a --yes`

const archiveCompactHelp = `Copy records into Parquet files, so that query engines such as DuckDB, Athena, BigQuery and Spark can read them. The
files are in the archive below parquet/, partitioned by month, or at --to. The command copies whole days in UTC that are
over, and each day only once; run it daily. It prints the names of the files. Give each archive a place of its own: the
command skips every day that --to has already. Do not run it twice at the same time for one place.

Parquet files are not encrypted: for an encrypted archive, --to is required. If the RetentionArchive has retain, Sunset
also deletes the Parquet files in the archive; those at --to it does not know.` + archiveExitCodes

const archiveCompactExamples = `  # Copy what was archived until yesterday
  kubectl sunset archive compact

  # Copy an encrypted archive to another place
  kubectl sunset archive compact --identity key.txt --to 's3://analytics/sunset?region=eu-central-1'`
