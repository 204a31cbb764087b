// SPDX-License-Identifier: Apache-2.0

package mutants

// imagesTable changes how an agent inspects and removes the images of its node.
var imagesTable = map[string]Mutant{
	"agentapi: each entry of a policy in a report counts": {
		File: "policy/agentapi/report.go", Test: "./policy/agentapi TestReportsOfOneAgentAreBounded",
		Old: "\t\tif seen.Has(p.UID) {",
		New: "\t\tif seen.Has(p.UID) && p.UID == \"\" {",
	},
	"history: the last use of an image is the start of that use": {
		File: "controllers/node/images/history/record.go", Test: "./controllers/node/images/history TestTimesStayPutAndStepWithTheWallClock",
		Old: "\tif r.inUse {\n\t\tr.last = observed //",
		New: "\tif r.inUse && !inUse && r.last == 0 {\n\t\tr.last = observed //",
	},
	"images: Pods deleted while a snapshot is taken use no images": {
		File: "controllers/node/images/snapshot.go", Test: "./controllers/node/images TestPodThatIsDeletedDuringTheChecksUsesItsImage",
		Old: "[][]corev1.Pod{before, after}",
		New: "[][]corev1.Pod{after, before[:0]}",
	},
	"images: ages hold after a step of the clock": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestStepOfAClockMakesNoImageDue",
		Old: "in.ranks || !n.History.IsCurrent(n.Readings())",
		New: "in.ranks",
	},
	"images: Pods that failed use images": {
		File: "controllers/node/images/snapshot.go", Test: "./controllers/node/images TestImageThatAPodNamesIsUsed",
		Old: "pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed",
		New: "pod.Status.Phase == corev1.PodSucceeded",
	},
	"images: a filesystem that was not measured is too full": {
		File: "controllers/node/images/space.go", Test: "./controllers/node/images TestStillTooFull",
		Old: "\t\treturn errFilesystem\n",
		New: "\t\treturn nil\n",
	},
	"images: a partial snapshot lists uses before images": {
		File: "controllers/node/images/partial_snapshot.go", Test: "./controllers/node/images TestImageThatIsUsedDuringTheChecksIsKept",
		Old: "\tthere := n.readImages(ctx, ids)\n\tuses, since, err := n.uses(ctx)\n",
		New: "\tuses, since, err := n.uses(ctx)\n\tthere := n.readImages(ctx, ids)\n",
	},
	"images: a snapshot with a future time is recent": {
		File: "controllers/node/images/debug_images.go", Test: "./controllers/node/images TestDebugImagesTakesASnapshot",
		Old: "if lease.Elapsed(n.Clock.Now(), last.began) < most {",
		New: "if n.Clock.Now().Before(last.began) || lease.Elapsed(n.Clock.Now(), last.began) < most {",
	},
	"images: a running snapshot serves a request that came after its start": {
		File: "controllers/node/images/snapshot.go", Test: "./controllers/node/images TestRoundServesRequestsFromBeforeItsStart",
		Old: "\tif l.next != nil {\n\t\treturn l.next\n\t}\n\treturn l.running",
		New: "\tif l.running != nil {\n\t\treturn l.running\n\t}\n\treturn l.next",
	},
	"images: a failed snapshot shows that an image is gone": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestErrorDoesNotSayThatTheImageIsThere",
		Old: "return err == nil && l.byID[id] == nil",
		New: "return err != nil || l.byID[id] == nil",
	},
	"images: the outcome of a refused removal is unknown": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestRemovalsWithoutAnswerAreCountedLate",
		Old: "outcome.Unsure && outcome.Result != retention.Refused //",
		New: "outcome.Unsure //",
	},
	"images: a removal is sent after checks of any age": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestNoImageIsRemovedByOutdatedAnswers",
		Old: "if !preflight.Fresh(n.Clock.Now(), since) {",
		New: "if !preflight.Fresh(since, since) {",
	},
	"images: a removal that was not sent makes an earlier one without an answer definite": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestRemovalsWithoutAnswerAreCountedLate",
		Old: "n.restore(t.Name, earlier)",
		New: "n.restore(t.Name, sent); _ = earlier",
	},
	"images: a removal uses a snapshot of any age": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestPrepareReadsTheImageAgain",
		Old: "took < 0 || took > readsAge",
		New: "took < 0",
	},
	"images: a retried removal counts twice": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestRemovalsWithoutAnswerAreCountedLate",
		Old: "\tn.remember(sent)\n\treturn outcome\n",
		New: "\tif n.restore(t.Name, earlier); sent.unanswered {\n\t\tn.remember(sent)\n\t}\n\treturn outcome\n",
	},
	"images: an image that the agent removed once is never removed by others": {
		File: "controllers/node/images/sent.go", Test: "./controllers/node/images TestRanksCountOthers",
		Old: "answeredFor = time.Minute",
		New: "answeredFor = time.Hour",
	},
	"images: a permit for another image removes the prepared image": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestPrepareOnlyTheImageOfThePermit",
		Old: "\tif err := mayRemove(w, t); err != nil {\n\t\treturn err\n\t}\n\tif w.Compares()",
		New: "\tif w.Compares()",
	},
	"images: an image without a record has an age": {
		File: "controllers/node/images/snapshot.go", Test: "./controllers/node/images TestImageWithoutARecordIsKept",
		Old: "\ti.ageless = !known\n",
		New: "\ti.ageless = !known && i.InUse\n",
	},
	"images: answers about the use of an image count from the end of the snapshot": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestNoImageIsRemovedByOldAnswersAboutItsUse",
		Old: "Since: l.since,",
		New: "Since: n.Clock.Now(),",
	},
	"images: the outcome of a failed removal is known": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestRemovalsWithoutAnswerAreCountedLate",
		Old: "Result: resultOf(err), Unsure: true, Err: err",
		New: "Result: resultOf(err), Unsure: false, Err: err",
	},
	"images: a rule that ranks images uses a partial snapshot": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestRuleThatRanksReadsAllImages",
		Old: "if w.Compares() && (p.lost || !p.round.ranks) {",
		New: "if w.Compares() && p.lost {",
	},
	"images: containers are listed before Pods": {
		File: "controllers/node/images/snapshot.go", Test: "./controllers/node/images TestImageThatIsUsedDuringTheChecksIsKept",
		Old: "\tbefore, _, err := n.Cluster.Pods(ctx)\n\tif err != nil {\n\t\treturn uses, since, fmt.Errorf(\"%w: %w\", ErrPods, err)\n\t}\n\tuses, err = n.Runtime.Uses(ctx)\n\tif err != nil {\n\t\treturn uses, since, err\n\t}\n",
		New: "\tuses, err = n.Runtime.Uses(ctx)\n\tif err != nil {\n\t\treturn uses, since, err\n\t}\n\tbefore, _, err := n.Cluster.Pods(ctx)\n\tif err != nil {\n\t\treturn uses, since, fmt.Errorf(\"%w: %w\", ErrPods, err)\n\t}\n",
	},
	"images: ephemeral containers use no images": {
		File: "controllers/node/images/snapshot.go", Test: "./controllers/node/images TestImageThatAPodNamesIsUsed",
		Old: "\tfor _, c := range pod.Spec.EphemeralContainers {\n\t\tadd(c.Image)\n\t}\n",
		New: "",
	},
	"images: each request takes its own snapshot": {
		File: "controllers/node/images/snapshot.go", Test: "./controllers/node/images TestRoundServesRequestsFromBeforeItsStart",
		Old: "\tif l.next == nil {\n\t\tl.next = &singleflight",
		New: "\tif l.next == nil || l.running != nil {\n\t\tl.next = &singleflight",
	},
	"images: image volumes use no images": {
		File: "controllers/node/images/snapshot.go", Test: "./controllers/node/images TestImageThatAPodNamesIsUsed",
		Old: "\t\tif v.Image != nil {",
		New: "\t\tif v.Image != nil && v.Name == \"\" {",
	},
	"images: an image is removed at the low threshold": {
		File: "controllers/node/images/space.go", Test: "./controllers/node/images TestStillTooFull",
		Old: "int(node.Filesystem.UsedPercent) <= rule.Images.Low",
		New: "int(node.Filesystem.UsedPercent) < rule.Images.Low",
	},
	"images: an image with changed fields counts as unchanged": {
		File: "controllers/node/images/partial_snapshot.go", Test: "./controllers/node/images TestPrepareReadsTheImageAgain",
		Old: "image.ageless || known.form != formOf(&image.Image)",
		New: "image.ageless",
	},
	"images: removals by others do not change the ranks": {
		File: "controllers/node/images/remove.go", Test: "./controllers/node/images TestRanksCountOthers",
		Old: "if w.Compares() && (p.lost || !p.round.ranks) {",
		New: "if w.Compares() && !p.round.ranks {",
	},
	"images: statuses of init containers use no images": {
		File: "controllers/node/images/snapshot.go", Test: "./controllers/node/images TestImageThatAPodNamesIsUsed",
		Old: "{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses,",
		New: "{pod.Status.ContainerStatuses,",
	},
	"images: the ID that a container runs is not used": {
		File: "controllers/node/images/snapshot.go", Test: "./controllers/node/images TestImageThatAPodNamesIsUsed",
		Old: "\t\t\tadd(s.ImageID)\n",
		New: "",
	},
	"images: uses are listed before images": {
		File: "controllers/node/images/snapshot.go", Test: "./controllers/node/images TestImageThatIsUsedDuringTheChecksIsKept",
		Old: "\tlisted, err := n.Runtime.Images(ctx)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\tuses, since, err := n.uses(ctx)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n",
		New: "\tuses, since, err := n.uses(ctx)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\tlisted, err := n.Runtime.Images(ctx)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n",
	},
	"images: an image that disappears long after a removal counts as removed by it": {
		File: "controllers/node/images/sent.go", Test: "./controllers/node/images TestRemovalsWithoutAnswerAreCountedLate",
		Old: "case age > unansweredFor,",
		New: "case age > 2*unansweredFor,",
	},
}
