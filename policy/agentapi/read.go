// SPDX-License-Identifier: Apache-2.0

package agentapi

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Received are the rules that an agent has received. The zero value has no rules about images.
type Received struct {
	Policies []*policy.Policy
	known    map[types.UID]v1alpha1.NodeImageKnownPolicy
}

// received is NodeImageRules with raw specs.
type received struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Policies          []receivedPolicy                `json:"policies"`
	Known             []v1alpha1.NodeImageKnownPolicy `json:"known"`
}

type receivedPolicy struct {
	Name              string          `json:"name"`
	UID               types.UID       `json:"uid"`
	CreationTimestamp metav1.Time     `json:"creationTimestamp"`
	Generation        int64           `json:"generation"`
	Hash              string          `json:"hash"`
	Unapproved        []string        `json:"unapproved"`
	Approvals         []string        `json:"approvals"`
	Spec              json.RawMessage `json:"spec"`
}

// Read reads the JSON of NodeImageRules. An unknown field may mean to keep images. Outside of a spec it is an error, and nothing
// is read. Inside a spec it makes that policy invalid. Rules that need a feature in off are invalid too.
func Read(data []byte, off ...policy.Feature) (Received, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var t received
	if err := decoder.Decode(&t); err != nil {
		return Received{}, fmt.Errorf("read rules about images: %w", err)
	}
	read := Received{known: make(map[types.UID]v1alpha1.NodeImageKnownPolicy, len(t.Known))}
	for _, k := range t.Known {
		read.known[k.UID] = k
	}
	for i := range t.Policies {
		p, err := t.Policies[i].load(off)
		if err != nil {
			return Received{}, fmt.Errorf("read rules about images: policy %s: %w", t.Policies[i].Name, err)
		}
		read.Policies = append(read.Policies, p)
	}
	return read, nil
}

func (t *receivedPolicy) load(off []policy.Feature) (*policy.Policy, error) {
	data, err := json.Marshal(map[string]any{
		"apiVersion": v1alpha1.ClusterRetentionPolicyKind.GroupVersion().String(),
		"kind":       v1alpha1.ClusterRetentionPolicyKind.Kind,
		"metadata":   map[string]any{"name": t.Name, "uid": t.UID, "creationTimestamp": t.CreationTimestamp, "generation": t.Generation},
		"spec":       t.Spec,
	})
	if err != nil {
		return nil, err
	}
	document, err := policy.Parse(data)
	if err != nil {
		return nil, err
	}
	p := document.Load(policy.Protection{Off: off})
	p.Hash, p.Approvals = t.Hash, t.Approvals
	if len(t.Unapproved) > 0 {
		p.Gate = &policy.ApprovalGate{Hash: t.Hash, Rules: sets.New(t.Unapproved...)}
	}
	return p, nil
}

// Knows reports whether the controller has read a policy for these rules. Without rules, it is true for every policy.
func (t *Received) Knows(uid types.UID) bool {
	_, known := t.known[uid]
	return known || len(t.known) == 0
}

// Compare checks that the agent has received the current version of all policies. The error names a policy for which that is not
// so.
func (t *Received) Compare(now []metav1.PartialObjectMetadata) error {
	for i := range now {
		p := &now[i]
		known, ok := t.known[p.UID]
		if !ok || known.Generation != p.Generation {
			return fmt.Errorf("policy %s has changed, and the controller has not updated NodeImageRules yet", p.Name)
		}
	}
	if len(now) != len(t.known) {
		return fmt.Errorf("%d policies were deleted, and the controller has not updated NodeImageRules yet", len(t.known)-len(now))
	}
	return nil
}

// On gives the policies with only the rules for a node with these labels.
func (t *Received) On(labels map[string]string) []*policy.Policy {
	all := make([]*policy.Policy, len(t.Policies))
	for i, p := range t.Policies {
		own := *p
		own.Rules = nil
		for _, r := range p.Rules {
			if r.SelectsNode(labels) {
				own.Rules = append(own.Rules, r)
			}
		}
		all[i] = &own
	}
	return all
}
