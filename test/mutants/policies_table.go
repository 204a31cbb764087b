package mutants

// policiesTable changes what is read, and what waits for approval, before a deletion.
var policiesTable = map[string]Mutant{
	"fence: a RetentionPolicy that cannot be read is no doubt": {
		File: "controllers/policies/namespaces.go", Test: "./controllers/policies TestAPolicyThatComesAndGoesStopsItsOwnNamespaceAlone",
		Old: "\tif err := l.live.unread[name]; err != nil {\n\t\treturn err\n\t}\n",
		New: "",
	},
	"fence: leadership may end while policies are read": {
		File: "controllers/policies/fence.go", Test: "./controllers/policies TestDoubtFailsClosed",
		Old: "return since, l.Leadership.Check() // reading",
		New: "return since, nil // reading",
	},
	"fence: quotas have no age": {
		File: "controllers/policies/fence.go", Test: "./controllers/policies TestTheAgeOfQuotasCounts",
		Old: "\tif l.boundByQuotas(namespace) {\n\t\tanswers",
		New: "\tif l.boundByQuotas(namespace) && namespace == \"\" {\n\t\tanswers",
	},
	"gates: a count from before a change ends the wait for it": {
		File: "controllers/policies/gates.go", Test: "./controllers/policies TestWhatWasCountedBesideAVetoDoesNotOutliveIt",
		Old: "if c.Outdated.Equal(e.previews.outdated) {",
		New: "if !c.Outdated.After(e.previews.outdated) {",
	},
	"known: an older view replaces a newer one": {
		File: "controllers/policies/known.go", Test: "./controllers/policies TestARelabelledNamespaceStaysSo",
		Old: "return s == nil || newer(object.GetResourceVersion(), s.version)",
		New: "return s == nil || object.GetResourceVersion() != s.version",
	},
	"trust: marks from a time without permission count": {
		File: "controllers/policies/trust.go", Test: "./controllers/policies TestMarksFromBeforeARightWasMissingDoNotCount",
		Old: "t = trust{since: l.Clock.Now()}\n\t}\n\tl.marking[own.Mark] = t",
		New: "t.blind = false\n\t}\n\tl.marking[own.Mark] = t",
	},
	"trust: marks of a policy that was edited without a leader count": {
		File: "controllers/policies/trust.go", Test: "./controllers/policies TestALeaderThatStartsBelievesNoMarkThatTheStatusDistrusts",
		Old: "if dryRun || changed || slices",
		New: "if dryRun || changed && status.Enforced == nil || slices",
	},
}
