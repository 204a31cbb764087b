// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/audit"
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/process/tracing"
)

// audit returns what writes the audit records.
func (c *Config) audit() *audit.Writer {
	return &audit.Writer{Format: c.AuditRecords, Log: log.Log.WithName(audit.LoggerName), Out: os.Stdout, Controller: c.Identity, Failed: metrics.AuditErrors.Inc}
}

// startTracing starts to export traces, if there is an endpoint.
func (c *Config) startTracing(ctx context.Context) (err error) {
	if c.TracingEndpoint == "" {
		return nil
	}
	c.traces, err = tracing.Start(ctx, tracing.Options{
		Endpoint: c.TracingEndpoint, PerMillion: c.TracingPerMillion, Service: leaseName, Instance: c.Identity, Clock: c.Clock,
		Log: log.FromContext(ctx).WithName("tracing"), Failed: metrics.TraceErrors.Inc,
	})
	return err
}
