// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// restoreClaim is the command restore.
type restoreClaim struct {
	restorer
	from       string
	namespace  string
	connection connection
}

func newRestore(streams genericiooptions.IOStreams) *cobra.Command {
	r := &restoreClaim{restorer: newRestorer(streams)}
	c := &cobra.Command{
		Use:     "restore (pvc/NAME | pvc NAME) [-n NAMESPACE] [--from SNAPSHOT] [--yes]",
		Short:   "Create a deleted claim again from its snapshot",
		Long:    restoreHelp,
		Example: restoreExamples,
		Args:    cobra.RangeArgs(1, 2),
		RunE:    func(c *cobra.Command, args []string) error { return r.run(c.Context(), args) },
	}
	r.add(c.Flags())
	c.Flags().StringVar(&r.from, "from", "", "name of the VolumeSnapshot; the default is the newest one that is ready to use")
	r.connection.add(c, &r.namespace, "namespace of the claim, instead of that of the kubeconfig")
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}

func (r *restoreClaim) run(ctx context.Context, args []string) error {
	kind, name, _ := strings.Cut(strings.Join(args, "/"), "/")
	if !isNamed(kind, policy.ClaimKind) || name == "" || strings.Contains(name, "/") {
		return errors.New("name one PersistentVolumeClaim, as pvc/NAME; to restore other objects, use kubectl sunset archive restore")
	}
	if r.namespace == "" {
		var err error
		if r.namespace, _, err = r.connection.ToRawKubeConfigLoader().Namespace(); err != nil {
			return err
		}
	}
	c, err := r.connection.connect()
	if err != nil {
		return err
	}
	record, err := r.find(ctx, c, name)
	if err != nil {
		return err
	}
	steps := restore.Plan([]restore.Record{record}, func(audit.Object) *unstructured.Unstructured { return &unstructured.Unstructured{} }, restore.Options{BuiltIn: cluster.IsBuiltIn})
	for _, s := range steps {
		s.Notes = append(s.Notes, "its data is that of "+record.From)
	}
	return r.restore(ctx, c, steps)
}

// find finds the VolumeSnapshot of a claim that --from names, or the newest that is ready to use.
func (r *restoreClaim) find(ctx context.Context, c *cluster.Cluster, name string) (restore.Record, error) {
	chooser := &restore.Chooser{Claim: name, From: r.from}
	err := c.Each(ctx, cluster.Query{Kind: policy.VolumeSnapshotKind, Namespace: r.namespace, Selector: v1alpha1.ClaimUIDLabel}, func(page cluster.Page) error {
		for _, object := range page {
			chooser.Add(object)
		}
		return nil
	})
	if err != nil {
		return restore.Record{}, err
	}
	chosen, unusable := chooser.Chosen()
	switch {
	case chosen != nil:
		return chosen.Record(), nil
	case len(unusable) > 0:
		return restore.Record{}, fmt.Errorf("PersistentVolumeClaim %s/%s cannot be restored: %s", r.namespace, name, strings.Join(unusable, "; "))
	}
	return restore.Record{}, fmt.Errorf("namespace %s has no VolumeSnapshot that Sunset made of PersistentVolumeClaim %s%s; list them: kubectl get volumesnapshots -n %s -l %s",
		r.namespace, name, r.named(), r.namespace, v1alpha1.ClaimUIDLabel)
}

// named says which VolumeSnapshot the user has named.
func (r *restoreClaim) named() string {
	if r.from == "" {
		return ""
	}
	return " with the name " + r.from
}

const restoreHelp = `Create a PersistentVolumeClaim that a policy has deleted again, with the data of the VolumeSnapshot that Sunset made before.
Rules with snapshot make one. Without --yes, the command shows what it would create: it has the API server check the
claim, with a request that is a dry run, and changes nothing.

The claim has the name, labels, annotations, storage class, access modes and size that it had, or a larger size if the
snapshot needs it. Its dataSource is the VolumeSnapshot; keep that until the claim is bound. The command never replaces a
claim that exists. The claim gets a hold, and annotations that name the VolumeSnapshot. You need permission to list
VolumeSnapshots and to create PersistentVolumeClaims.

To restore other objects, use kubectl sunset archive restore.

Exit codes: 0 success; 1 the claim cannot be created; 2 wrong usage, no such VolumeSnapshot, or a cluster that cannot be
read.`

const restoreExamples = `  # What would come back?
  kubectl sunset restore pvc/data -n shop

  # Create the claim
  kubectl sunset restore pvc/data -n shop --yes

  # Use another snapshot than the newest
  kubectl get volumesnapshots -n shop -l sunset-k8s.io/claim-uid
  kubectl sunset restore pvc/data -n shop --from sunset-0b5c7f2e-8d1a-4c39-9d53-6f6d3f0f7c11-mi6qk0zs --yes`
