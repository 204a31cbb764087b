// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	dryRunPhase  = "dry run: due Jobs are counted, nothing is deleted"
	enforcePhase = "enforce: due Jobs are deleted, all others stay"
)

// backlog is how many Jobs must be due in the dry run before the switch to Enforce.
const backlog = 3

// play runs the scenario. The error says what went wrong.
func (d *demo) play(ctx context.Context) error {
	if err := createPolicy(ctx, d.stage.client.RESTClient()); err != nil {
		return fmt.Errorf("create policy: %w", err)
	}
	d.ui.say("kubectl apply -f policy.yaml", policyYAML)
	d.began = time.Now()
	created := make(chan error, 1)
	go func() { created <- d.createAll(ctx, scenario) }()
	var counted frame
	err := d.until(ctx, dryRunPhase, time.Minute, func(f frame) error {
		counted = f
		return dryRunIsRight(f, scenario)
	})
	if err != nil {
		return fmt.Errorf("dry run: %w", err)
	}
	if err := <-created; err != nil {
		return err
	}
	d.ui.say("kubectl get cret", counted.policy.printed)
	if err := d.enforce(ctx); err != nil {
		return err
	}
	return d.finish(ctx)
}

func (d *demo) createAll(ctx context.Context, plans []plan) error {
	for i, p := range plans {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Until(d.began.Add(p.at))):
		}
		if err := d.create(ctx, p, i); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) create(ctx context.Context, p plan, i int) error {
	_, err := d.stage.client.BatchV1().Jobs(p.namespace).Create(ctx, jobFor(p, i%nodes), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create Job %s: %w", p.name, err)
	}
	return nil
}

// enforce switches the policy to Enforce. The lateness of due Jobs counts from the time before the request.
func (d *demo) enforce(ctx context.Context) error {
	d.ui.say(`kubectl patch cret batch --type merge -p '{"spec":{"mode":"Enforce"}}'`, "")
	_, h := d.story.tell()
	next := h.at(time.Now())
	next.mode, next.since, next.generation = v1alpha1.Enforce, time.Now(), next.generation+1
	d.story.say(next)
	if err := setMode(ctx, d.stage.client.RESTClient(), v1alpha1.Enforce); err != nil {
		return fmt.Errorf("switch to Enforce: %w", err)
	}
	return nil
}

// finish waits for all expected changes, and a little longer for unexpected ones; then it checks the result.
func (d *demo) finish(ctx context.Context) error {
	var last frame
	err := d.until(ctx, enforcePhase, time.Minute, func(f frame) error {
		last = f
		return firstOf(problems(f, scenario))
	})
	if err == nil {
		settled := time.Now().Add(2 * time.Second)
		err = d.until(ctx, enforcePhase, time.Minute, func(f frame) error {
			last = f
			if f.now.Before(settled) {
				return errors.New("still watching for unexpected deletions")
			}
			return nil
		})
	}
	if stopped := context.Cause(ctx); stopped != nil {
		return stopped
	}
	d.last = &last
	if found := problems(last, scenario); len(found) > 0 {
		return fmt.Errorf("the demo failed:\n  %s", strings.Join(found, "\n  "))
	}
	return err
}
