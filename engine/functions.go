package engine

import (
	"github.com/google/cel-go/cel"
)

// Function is one of the functions that Sunset adds to CEL, as people read about it.
type Function struct {
	Name       string
	Signatures []string // such as "finished(object) -> bool"
	Doc        string   // what it promises
	Examples   []Example

	overloads []cel.FunctionOpt
	reads     []string // fields of its first argument; nil means all of it
}

// Example is an expression and what it gives. A test evaluates every one of them.
type Example struct {
	Expression string
	Object     string // what it is asked of: a file in testdata/objects, without its suffix
	Gives      string // the value in CEL, or "error: " and a part of the message
}

// Functions are the functions that Sunset adds, in the order in which to read about them. The environment declares
// them from the same table.
func Functions() []Function {
	return []Function{
		aboutOutcome("finished", "True once the object has ended, well or badly. It knows how Jobs, Pods, Kueue Workloads, "+
			"JobSets, Tekton runs and Argo Workflows end, and judges any other kind by a condition Complete, Completed, "+
			"Finished, Succeeded or Failed with status True. Asked of a kind that has no such end, such as a ConfigMap, it is "+
			"an error that says what to write instead.",
			func(o outcome) bool { return o != running },
			Example{"finished(object)", "job-complete", "true"},
			Example{"finished(object)", "job-running", "false"},
			Example{"finished(object)", "configmap", "error: never finishes"}),
		finishedAtDoc(),
		aboutOutcome("succeeded", "True once the object has ended well.",
			func(o outcome) bool { return o == succeeded },
			Example{"succeeded(object)", "job-complete", "true"},
			Example{"succeeded(object)", "pod-evicted", "false"}),
		aboutOutcome("failed", "True once the object has ended badly. A Kueue Workload that finished for another reason than "+
			"its job's end, such as OutOfSync, has neither succeeded nor failed.",
			func(o outcome) bool { return o == failed },
			Example{"failed(object) ? days(7) : days(1)", "job-failed", "days(7)"}),
		conditionDoc(),
		conditionTimeDoc(),
		daysDoc(),
		controllerOfDoc(),
		imageRepositoryDoc(),
		imageTagDoc(),
		configMapsInDoc(),
		secretsInDoc(),
	}
}

// endReads is what it takes to say how and when an object ended: every kind keeps it elsewhere in its status.
func endReads() []string { return []string{"apiVersion", "kind", "status"} }

func aboutOutcome(name, doc string, answer func(outcome) bool, examples ...Example) Function {
	return Function{
		Name:       name,
		Signatures: []string{name + "(object) -> bool"},
		Doc:        doc,
		Examples:   examples,
		overloads: []cel.FunctionOpt{
			cel.Overload(name+"_object", []*cel.Type{cel.DynType}, cel.BoolType, cel.UnaryBinding(onOutcome(name, answer))),
		},
		reads: endReads(),
	}
}

func finishedAtDoc() Function {
	return Function{
		Name:       "finishedAt",
		Signatures: []string{"finishedAt(object) -> optional(timestamp)"},
		Doc: "When the object ended; none while it has not. A Pod ended when its last container did, init containers " +
			"included; if a container does not say when (an evicted Pod, a lost node), the last change of the Pod's conditions " +
			"counts too. Never earlier than the true end: an object that ended and does not say when is an error.",
		Examples: []Example{
			{"finishedAt(object)", "job-complete", "optional.of(timestamp('2026-03-01T12:10:00Z'))"},
			{"finishedAt(object)", "job-running", "optional.none()"},
			{"finishedAt(object)", "pod-evicted", "optional.of(timestamp('2026-03-01T12:30:00Z'))"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("finished_at_object", []*cel.Type{cel.DynType}, cel.OptionalType(cel.TimestampType), cel.UnaryBinding(finishedAt)),
		},
		reads: endReads(),
	}
}

func conditionDoc() Function {
	return Function{
		Name:       "condition",
		Signatures: []string{"condition(object, type) -> bool"},
		Doc: "True if status.conditions has a condition of that type with status True. False if it has another status, or " +
			"is not there.",
		Examples: []Example{
			{"condition(object, 'Ready')", "pod-running", "true"},
			{"condition(object, 'Evicted')", "pod-running", "false"},
			{"!condition(object, 'Ready')", "configmap", "true"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("condition_object_string", []*cel.Type{cel.DynType, cel.StringType}, cel.BoolType, cel.BinaryBinding(hasCondition)),
		},
		reads: []string{"status.conditions"},
	}
}

func conditionTimeDoc() Function {
	conditionTimes := cel.OptionalType(cel.TimestampType)
	return Function{
		Name: "conditionTime",
		Signatures: []string{
			"conditionTime(object, type) -> optional(timestamp)",
			"conditionTime(object, types) -> optional(timestamp)",
		},
		Doc: "When the condition of that type last changed, if its status is True; none otherwise. Of a list of types the " +
			"first that is True counts, in the order of the list.",
		Examples: []Example{
			{"conditionTime(object, 'Ready')", "pod-running", "optional.of(timestamp('2026-03-01T12:00:05Z'))"},
			{"conditionTime(object, ['Complete', 'Failed'])", "job-failed", "optional.of(timestamp('2026-03-01T12:20:00Z'))"},
			{"conditionTime(object, 'Ready')", "job-failed", "optional.none()"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("condition_time_object_string", []*cel.Type{cel.DynType, cel.StringType}, conditionTimes, cel.BinaryBinding(conditionTime)),
			cel.Overload("condition_time_object_list", []*cel.Type{cel.DynType, cel.ListType(cel.StringType)}, conditionTimes, cel.BinaryBinding(conditionTime)),
		},
		reads: []string{"status.conditions"},
	}
}

func daysDoc() Function {
	return Function{
		Name:       "days",
		Signatures: []string{"days(n) -> duration"},
		Doc: "A span of n times 24 hours, which CEL's own duration() cannot say. n is a whole number or a fraction, at " +
			"most 292 years. A day is 24 hours, whatever a calendar says.",
		Examples: []Example{
			{"days(7)", "job-complete", "days(7)"},
			{"days(0.5)", "job-complete", "duration('12h')"},
			{"days(1) + duration('6h')", "job-complete", "duration('30h')"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("days_int", []*cel.Type{cel.IntType}, cel.DurationType, cel.UnaryBinding(days)),
			cel.Overload("days_double", []*cel.Type{cel.DoubleType}, cel.DurationType, cel.UnaryBinding(days)),
		},
	}
}

func controllerOfDoc() Function {
	return Function{
		Name:       "controllerOf",
		Signatures: []string{"controllerOf(object) -> optional(map)"},
		Doc: "The owner reference with controller true: a map with apiVersion, kind, name and uid. None if nobody controls " +
			"the object.",
		Examples: []Example{
			{"controllerOf(object).?kind", "pod-evicted", "optional.of('Job')"},
			{"controllerOf(object).hasValue()", "job-complete", "false"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("controller_of_object", []*cel.Type{cel.DynType}, cel.OptionalType(cel.MapType(cel.StringType, cel.DynType)), cel.UnaryBinding(controllerOf)),
		},
		reads: []string{"metadata.ownerReferences"},
	}
}
