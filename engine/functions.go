// SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/google/cel-go/cel"

// Function is a function that Sunset adds to CEL, with its documentation.
type Function struct {
	Name       string
	Signatures []string // such as "finished(object) -> bool"
	Doc        string   // what the function promises
	Examples   []Example

	overloads []cel.FunctionOpt
	reads     []string // the fields of its first argument that it reads; nil means all of it
}

// Example is an expression and its result. A test evaluates every Example.
type Example struct {
	Expression string
	Object     string // the object: a file in testdata/objects, without its suffix
	Gives      string // the result in CEL, or "error: " and a part of the message
}

// Functions are the functions that Sunset adds, in the order of the documentation. The environment declares them from the
// same table.
var Functions = []Function{
	aboutOutcome("finished", "True once the object has ended, with or without success. It supports Jobs, Pods, Kueue Workloads, "+
		"JobSets, Tekton runs and Argo Workflows. For any other kind, it is true if a condition Complete, Completed, "+
		"Finished, Succeeded or Failed has status True: check in the documentation of the kind that this condition "+
		"means the end of the object, and not of an update. For a Rollout, and for a kind without conditions that never ends, "+
		"such as a ConfigMap, it is an error whose message says what to write instead.",
		func(o outcome) bool { return o != running },
		Example{"finished(object)", "job-complete", "true"},
		Example{"finished(object)", "job-running", "false"},
		Example{"finished(object)", "configmap", "error: never finishes"}),
	{
		Name:       "finishedAt",
		Signatures: []string{"finishedAt(object) -> optional(timestamp)"},
		Doc: "When the object ended; none while it has not ended. A Pod ends when its last container ends, including init " +
			"containers. If a container has no end time (an evicted Pod, a lost node), the last change of the Pod's conditions " +
			"counts too. The result is never earlier than the actual end. An object that ended without an end time is an error.",
		Examples: []Example{
			{"finishedAt(object)", "job-complete", "optional.of(timestamp('2026-03-01T12:10:00Z'))"},
			{"finishedAt(object)", "job-running", "optional.none()"},
			{"finishedAt(object)", "pod-evicted", "optional.of(timestamp('2026-03-01T12:30:00Z'))"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("finished_at_object", []*cel.Type{cel.DynType}, cel.OptionalType(cel.TimestampType), cel.UnaryBinding(finishedAt)),
		},
		reads: endReads(),
	},
	aboutOutcome("succeeded", "True once the object has ended successfully.",
		func(o outcome) bool { return o == succeeded },
		Example{"succeeded(object)", "job-complete", "true"},
		Example{"succeeded(object)", "pod-evicted", "false"}),
	aboutOutcome("failed", "True once the object has ended in failure. A Kueue Workload that finished for another reason than "+
		"the end of its job, such as OutOfSync, has neither succeeded nor failed.",
		func(o outcome) bool { return o == failed },
		Example{"failed(object) ? days(7) : days(1)", "job-failed", "days(7)"}),
	{
		Name:       "condition",
		Signatures: []string{"condition(object, type) -> bool"},
		Doc: "True if status.conditions has a condition of that type with status True. False if the condition is absent or has " +
			"another status.",
		Examples: []Example{
			{"condition(object, 'Ready')", "pod-running", "true"},
			{"condition(object, 'Evicted')", "pod-running", "false"},
			{"!condition(object, 'Ready')", "configmap", "true"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("condition_object_string", []*cel.Type{cel.DynType, cel.StringType}, cel.BoolType, cel.BinaryBinding(hasCondition)),
		},
		reads: []string{"status.conditions"},
	},
	{
		Name: "conditionTime",
		Signatures: []string{
			"conditionTime(object, type) -> optional(timestamp)",
			"conditionTime(object, types) -> optional(timestamp)",
		},
		Doc: "When the condition of that type last changed, if its status is True; none otherwise. With a list of types, the result " +
			"is for the first type, in the order of the list, whose condition is True.",
		Examples: []Example{
			{"conditionTime(object, 'Ready')", "pod-running", "optional.of(timestamp('2026-03-01T12:00:05Z'))"},
			{"conditionTime(object, ['Complete', 'Failed'])", "job-failed", "optional.of(timestamp('2026-03-01T12:20:00Z'))"},
			{"conditionTime(object, 'Ready')", "job-failed", "optional.none()"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("condition_time_object_string", []*cel.Type{cel.DynType, cel.StringType},
				cel.OptionalType(cel.TimestampType), cel.BinaryBinding(conditionTime)),
			cel.Overload("condition_time_object_list", []*cel.Type{cel.DynType, cel.ListType(cel.StringType)},
				cel.OptionalType(cel.TimestampType), cel.BinaryBinding(conditionTime)),
		},
		reads: []string{"status.conditions"},
	},
	{
		Name:       "days",
		Signatures: []string{"days(n) -> duration"},
		Doc: "A duration of n times 24 hours; the units of CEL's own duration() do not include days. n is an integer or a fraction, at " +
			"most 292 years. A day is always 24 hours, independent of calendars and time zones.",
		Examples: []Example{
			{"days(7)", "job-complete", "days(7)"},
			{"days(0.5)", "job-complete", "duration('12h')"},
			{"days(1) + duration('6h')", "job-complete", "duration('30h')"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("days_int", []*cel.Type{cel.IntType}, cel.DurationType, cel.UnaryBinding(days)),
			cel.Overload("days_double", []*cel.Type{cel.DoubleType}, cel.DurationType, cel.UnaryBinding(days)),
		},
	},
	{
		Name:       "controllerOf",
		Signatures: []string{"controllerOf(object) -> optional(map)"},
		Doc: "The owner reference with controller true: a map with apiVersion, kind, name and uid. None if the object has no " +
			"controller.",
		Examples: []Example{
			{"controllerOf(object).?kind", "pod-evicted", "optional.of('Job')"},
			{"controllerOf(object).hasValue()", "job-complete", "false"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("controller_of_object", []*cel.Type{cel.DynType}, cel.OptionalType(cel.MapType(cel.StringType, cel.DynType)), cel.UnaryBinding(controllerOf)),
		},
		reads: []string{"metadata.ownerReferences"},
	},
	{
		Name:       "imageRepository",
		Signatures: []string{"imageRepository(tag) -> string"},
		Doc: "The repository of an image reference, as in `object.spec.tags` and `object.spec.digests`: the reference without " +
			"its tag and its digest. The port of a registry stays. The function adds no defaults: `app` is not `docker.io/library/app`.",
		Examples: []Example{
			{"imageRepository(object.spec.tags[0])", "image", "'registry.example.com:5000/team/app'"},
			{"imageRepository('registry.example.com/team/app@sha256:0d3c')", "image", "'registry.example.com/team/app'"},
			{"imageRepository('localhost:5000/app')", "image", "'localhost:5000/app'"},
			{"imageRepository(object.spec.tags[?7].orValue(''))", "image", "''"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("image_repository_string", []*cel.Type{cel.StringType}, cel.StringType,
				cel.UnaryBinding(ofReference("imageRepository", func(repository, _ string) string { return repository }))),
		},
	},
	{
		Name:       "imageTag",
		Signatures: []string{"imageTag(tag) -> string"},
		Doc:        "The tag of an image reference, without its repository; empty if the reference has no tag.",
		Examples: []Example{
			{"imageTag(object.spec.tags[0])", "image", "'v1.4.2'"},
			{"imageTag('localhost:5000/app')", "image", "''"},
			{"imageTag('registry.example.com/team/app@sha256:0d3c')", "image", "''"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("image_tag_string", []*cel.Type{cel.StringType}, cel.StringType,
				cel.UnaryBinding(ofReference("imageTag", func(_, tag string) string { return tag }))),
		},
	},
	aboutPodSpec("configMapsIn", "ConfigMaps", configMapPaths,
		"its volumes, including projected volumes, and `env` and `envFrom` of containers, init containers and ephemeral containers",
		Example{"configMapsIn(object.spec)", "pod-references", "['site', 'ca', 'flags', 'defaults', 'setup']"},
		Example{"configMapsIn(object.spec)", "pod-running", "[]"}),
	aboutPodSpec("secretsIn", "Secrets", secretPaths,
		"`imagePullSecrets`, volumes of every type, including projected volumes, and `env` and `envFrom` of containers, init containers and ephemeral containers",
		Example{"secretsIn(object.spec)", "pod-references", "['registry', 'tls', 'token', 'csi', 'password', 'debug']"}),
}

// readsOfFunctions are the fields of their first argument that functions read, by name. Functions that read all of it are not
// in the map.
var readsOfFunctions = func() map[string][]string {
	reads := map[string][]string{}
	for _, f := range Functions {
		if f.reads != nil {
			reads[f.Name] = f.reads
		}
	}
	return reads
}()

// endReads returns the fields that determine how and when an object ended. Each kind stores this in another field of
// its status.
func endReads() []string { return []string{"apiVersion", "kind", "status"} }

func aboutOutcome(name, doc string, test func(outcome) bool, examples ...Example) Function {
	return Function{
		Name:       name,
		Signatures: []string{name + "(object) -> bool"},
		Doc:        doc,
		Examples:   examples,
		overloads: []cel.FunctionOpt{
			cel.Overload(name+"_object", []*cel.Type{cel.DynType}, cel.BoolType, cel.UnaryBinding(onOutcome(name, test))),
		},
		reads: endReads(),
	}
}
