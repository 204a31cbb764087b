// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
	records "github.com/sunset-k8s/sunset/policy/archive"
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

// addSource adds the flags of the archive and of the connection. The command must have its other flags already.
func (s *archiveSource) addSource(c *cobra.Command) {
	s.addFlags(c, "namespace of the objects; the default is the namespace of the kubeconfig, or all with --url")
	c.ValidArgsFunction = cobra.NoFileCompletions
}

func (s *archiveSource) addFlags(c *cobra.Command, namespace string) {
	flags := c.Flags()
	flags.StringVar(&s.name, "archive", "", "name of the RetentionArchive; the default is the only one of the cluster")
	flags.StringVar(&s.url, "url", "", "URL of the archive, such as s3://BUCKET/PREFIX?region=REGION; the command then does not look for a RetentionArchive")
	flags.StringVar(&s.identity, "identity", "", "file with private keys of age, to decrypt the archive")
	c.MarkFlagsMutuallyExclusive("archive", "url")
	s.connection.add(c, &s.namespace, namespace)
	completeNames(c, &s.connection, "archive", cobra.ShellCompDirectiveNoFileComp, cluster.ArchiveKind)
}

// openArchive is an archive that can be read.
type openArchive struct {
	*records.Reader
	Name    string // of the RetentionArchive, or the URL without its parameters
	store   *store.Store
	cluster *cluster.Cluster // nil with a URL
}

// Close releases connections.
func (o *openArchive) Close() { _ = o.store.Close() }

// open opens the archive. The caller closes it. Credentials are those of the user's environment or, if the RetentionArchive names a
// Secret that the user may get, of that Secret.
func (s *archiveSource) open(ctx context.Context) (*openArchive, error) {
	o := &openArchive{Reader: &records.Reader{}, Name: withoutParameters(s.url)}
	var err error
	if o.Identities, err = s.readIdentities(); err != nil {
		return nil, err
	}
	url, credentials := s.url, map[string][]byte(nil)
	if url == "" {
		if url, credentials, err = s.ask(ctx, o); err != nil {
			return nil, err
		}
	}
	if o.store, err = store.Open(ctx, url, credentials); err != nil {
		return nil, fmt.Errorf("open archive %s: %w", o.Name, err)
	}
	o.Bucket = o.store
	return o, nil
}

// withoutParameters returns a URL without its parameters, which may contain secrets.
func withoutParameters(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return url
}

// ask reads the RetentionArchive.
func (s *archiveSource) ask(ctx context.Context, o *openArchive) (url string, credentials map[string][]byte, err error) {
	c, err := s.connection.connect()
	if err != nil {
		return "", nil, fmt.Errorf("%w; to read an archive without a cluster, use --url", err)
	}
	found, err := c.Archive(ctx, s.name)
	if err != nil {
		return "", nil, err
	}
	o.Name, o.cluster = found.Name, c
	if found.Spec.Credentials != nil {
		credentials, err = s.askSecret(ctx, c, found.Spec.Credentials)
	}
	return found.Spec.URL, credentials, err
}

func (s *archiveSource) askSecret(ctx context.Context, c *cluster.Cluster, of *v1alpha1.SecretReference) (map[string][]byte, error) {
	data, err := c.SecretData(ctx, of.Namespace, of.Name)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		notes{s.streams.ErrOut}.note("%v; the command uses the credentials of your environment", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the Secret with the credentials of the archive: %w", err)
	}
	return data, nil
}

func (s *archiveSource) readIdentities() ([]age.Identity, error) {
	if s.identity == "" {
		return nil, nil
	}
	text, err := os.ReadFile(s.identity)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	all, err := records.ParseIdentities(string(text))
	if err != nil {
		return nil, fmt.Errorf("--identity %s: %w", s.identity, err)
	}
	return all, nil
}

// explainArchive adds the next step to an error of the archive.
func explainArchive(err error) error {
	if errors.Is(err, records.ErrEncrypted) {
		return fmt.Errorf("%w: use --identity FILE", err)
	}
	return err
}

// resolve returns the only kind that has a name: a kind of Kubernetes, or of the cluster.
func (o *openArchive) resolve(name string) (kind schema.GroupKind, namespaced, ok bool) {
	kind, namespaced, ok = load.FindBuiltin(func(kind schema.GroupVersionKind) bool { return isKind(name, kind) })
	if ok || o.cluster == nil {
		return kind, namespaced, ok
	}
	found, err := o.cluster.Kind(name)
	return found.GroupKind(), found.Namespaced, err == nil
}

func isKind(name string, kind schema.GroupVersionKind) bool { return isNamed(name, kind) }
