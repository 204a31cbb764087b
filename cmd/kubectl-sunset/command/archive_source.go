// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
	records "github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/archive/settings"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// archiveSource says where an archive is: in a RetentionArchive of the cluster, or at a URL.
type archiveSource struct {
	streams    genericiooptions.IOStreams
	name, url  string
	identity   string
	namespace  string
	connection connection
}

// openArchive is an archive that can be read.
type openArchive struct {
	*records.Reader
	Name      string            // of the RetentionArchive, or the URL without its parameters
	retention records.Retention // of the RetentionArchive; zero with a URL
	cluster   *cluster.Cluster  // nil with a URL
	entries   []archive.Entry   // that the arguments and flags select
	leftOut   []archive.Entry   // that are not restored unless the user names them
	kept      int               // number of records of versions that Sunset did not delete, and that are not restored without --kept
	unread    unread
}

// addSource adds the flags of the archive and of the connection, and lets the command run with the archive. The command must have its
// other flags already. Flag -n sets namespace; if that is nil, there is no -n.
func (s *archiveSource) addSource(c *cobra.Command, namespace *string, run func(ctx context.Context, from *openArchive, args []string) error) *cobra.Command {
	c.Use += " [--archive NAME | --url URL]"
	s.addFlags(c, namespace, "namespace of the objects; the default is the namespace of the kubeconfig, or all with --url")
	c.ValidArgsFunction = cobra.NoFileCompletions
	c.RunE = func(c *cobra.Command, args []string) error {
		return explainArchive(s.open(c.Context(), func(from *openArchive) error { return run(c.Context(), from, args) }))
	}
	return c
}

func (s *archiveSource) addFlags(c *cobra.Command, namespace *string, help string) {
	flags := c.Flags()
	flags.StringVar(&s.name, "archive", "", "name of the RetentionArchive; the default is the only one of the cluster")
	flags.StringVar(&s.url, "url", "", "URL of the archive, such as s3://BUCKET/PREFIX?region=REGION; the command then does not look for a RetentionArchive")
	flags.StringVar(&s.identity, "identity", "", "file with private keys of age, to decrypt the archive")
	c.MarkFlagsMutuallyExclusive("archive", "url")
	s.connection.add(c, namespace, help)
	completeNames(c, &s.connection, "archive", cobra.ShellCompDirectiveNoFileComp, cluster.ArchiveKind)
}

// explainArchive adds the next step to an error of the archive.
func explainArchive(err error) error {
	if errors.Is(err, records.ErrEncrypted) {
		return fmt.Errorf("%w: use --identity FILE", err)
	}
	return err
}

// open opens the archive for run. Credentials are those of the user's environment or, if the RetentionArchive names a Secret that the
// user may get, of that Secret.
func (s *archiveSource) open(ctx context.Context, run func(*openArchive) error) error {
	o := &openArchive{Reader: &records.Reader{}}
	url, credentials, err := s.find(ctx, o)
	if err != nil {
		return err
	}
	if s.identity != "" {
		text, err := os.ReadFile(s.identity)
		if err == nil {
			o.Identities, err = parseIdentities(string(text))
		}
		if err != nil {
			return fmt.Errorf("--identity: %w", err)
		}
	}
	bucket, err := store.Open(ctx, url, credentials)
	if err != nil {
		return fmt.Errorf("open archive %s: %w", o.Name, err)
	}
	defer func() { _ = bucket.Close() }()
	o.Bucket = bucket
	return run(o)
}

// find finds the URL and the credentials of the archive.
func (s *archiveSource) find(ctx context.Context, o *openArchive) (url string, credentials map[string][]byte, err error) {
	if s.url != "" {
		o.Name, _, _ = strings.Cut(s.url, "?") // parameters may contain secrets
		return s.url, nil, nil
	}
	var found *v1alpha1.RetentionArchive
	if o.cluster, err = s.connection.connect(); err == nil {
		found, err = o.cluster.Archive(ctx, s.name)
	}
	if err != nil {
		return "", nil, fmt.Errorf("%w; to read an archive without the cluster, use --url", err)
	}
	read, problems := settings.Load(found.Spec)
	for _, p := range problems {
		notes{s.streams.ErrOut}.note("RetentionArchive %s is not valid: %s", found.Name, p)
	}
	o.Name, o.retention = found.Name, records.Retention{Retain: read.Retain, Holds: found.Spec.LegalHolds}
	if secret := found.Spec.Credentials; secret != nil {
		credentials, err = o.cluster.SecretData(ctx, secret.Namespace, secret.Name)
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			notes{s.streams.ErrOut}.note("%v; the command uses the credentials of your environment", err)
			err = nil
		}
	}
	return found.Spec.URL, credentials, err
}

// kind returns the kind with a name: a kind of the cluster or of Kubernetes, and otherwise any that can have this name.
func (o *openArchive) kind(name string) archive.Kind {
	var known schema.GroupKind
	var namespaced, ok bool
	if o.cluster != nil { // it may not serve the kind of Kubernetes with this name, such as Workload, but another one
		found, err := o.cluster.Kind(name)
		known, namespaced, ok = found.GroupKind(), found.Namespaced, err == nil
	}
	if !ok {
		known, namespaced, ok = load.FindBuiltin(func(kind schema.GroupVersionKind) bool { return isNamed(name, kind) })
	}
	if !ok {
		return archive.Kind{Is: func(kind schema.GroupKind) bool { return isNamed(name, kind.WithVersion("v1")) }}
	}
	return archive.Kind{Is: func(kind schema.GroupKind) bool { return kind == known }, Known: known, Namespaced: namespaced}
}

// countedBucket counts the objects that are read.
type countedBucket struct {
	records.Bucket
	progress *terminal.Progress
}

// Read implements records.Bucket.
func (b countedBucket) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	b.progress.Add(1)
	return b.Bucket.Read(ctx, name)
}

// parseIdentities reads private keys of age: the content of a file that age-keygen writes. The error does not contain the text.
func parseIdentities(text string) ([]age.Identity, error) {
	identities, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil {
		return nil, errors.New("not the private keys of age; give a file that age-keygen writes, with lines that begin with AGE-SECRET-KEY-1")
	}
	return identities, nil
}
