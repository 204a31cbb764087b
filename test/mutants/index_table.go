package mutants

// indexTable changes what is known of objects: marks and loops.
var indexTable = map[string]Mutant{
	"index: rows that an earlier snapshot judged are counted by the new one": {
		File: "controllers/retention/index/index.go", Test: "./controllers/retention/index TestLenAndHas",
		Old: "return x.synced && x.snapshot == snapshot && x",
		New: "return x.synced && x",
	},
	"marks: a gap leaves the mark": {
		File: "controllers/retention/index/marks.go", Test: "./controllers/retention/index TestSinceWhenItIsEligible",
		Old: "case gap, old != nil && old.voids(f):",
		New: "case old != nil && old.voids(f):",
	},
	"marks: a newer version of what is gone is gone": {
		File: "controllers/retention/index/marks.go", Test: "./controllers/retention/index TestMarkGone",
		Old: "= old.gone && sameVersion, old",
		New: "= old.gone, old",
	},
	"marks: use that was seen leaves the mark": {
		File: "controllers/retention/index/marks.go", Test: "./controllers/retention/index TestSinceWhenItIsEligible",
		Old: "\tcase !f.eligible:\n\t\treturn true\n",
		New: "",
	},
	"marks: what referred for a moment leaves the mark": {
		File: "controllers/retention/index/marks.go", Test: "./controllers/retention/index TestSinceWhenItIsEligible",
		Old: "return next.notBefore().After(f.notBefore())",
		New: "return false",
	},
	"returns: a name that comes back late has come back": {
		File: "controllers/retention/index/returns.go", Test: "./controllers/retention/index TestObjectsThatAreRecreatedRepeatedlyAreKept",
		Old: " || now.Sub(time.Unix(0, d.at)) > returnsWithin {",
		New: " {",
	},
	"returns: an owner that comes back is new": {
		File: "controllers/retention/index/returns.go", Test: "./controllers/retention/index TestAnOwnerThatComesBack",
		Old: "if i.Owner != nil && d.streak > 0 {",
		New: "if i.Owner != nil && d.streak > maxReturns {",
	},
	"returns: any change in the namespace ends a loop": {
		File: "controllers/retention/index/returns.go", Test: "./controllers/retention/index TestWhatResetsTheCountOfRecreations",
		Old: "if is.ID == was.ID && is.EditedSince(was) {",
		New: "if is.ID == was.ID && is != was {",
	},
	"returns: what others delete is a return": {
		File: "controllers/retention/index/returns.go", Test: "./controllers/retention/index TestWhatResetsTheCountOfRecreations",
		Old: "\tcase row.leaving:\n",
		New: "\tcase row.leaving || row.isPrompt():\n",
	},
}
