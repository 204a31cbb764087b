package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// TestThePageHasEveryFlag: an operator finds every flag in docs/images.md with its default, but for those of the log, and no
// other.
func TestThePageHasEveryFlag(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	page, err := os.ReadFile("../../docs/images.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, match := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| (?:`([^$`]*)`|`\\$NODE_NAME`)? ?\\| .+ \\|$").FindAllStringSubmatch(string(page), -1) {
		documented[match[1]] = match[2]
	}
	flags := map[string]string{}
	(&options{}).flags().VisitAll(func(f *pflag.Flag) {
		if !strings.HasPrefix(f.Name, "zap-") {
			flags[f.Name] = f.DefValue
		}
	})
	if diff := cmp.Diff(flags, documented); diff != "" {
		t.Errorf("docs/images.md: -flags +page\n%s", diff)
	}
}

// TestTheManifestStartsTheAgent: what crds/nodes/agent.yaml has, with and without what is commented out, is a DaemonSet whose
// arguments the agent takes and whose mounts are those that the page promises.
func TestTheManifestStartsTheAgent(t *testing.T) {
	text, err := os.ReadFile("../../crds/nodes/agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	socket, state, images := "/run/containerd/containerd.sock", "/var/lib/sunset-node-agent", "/var/lib/containerd"
	for name, test := range map[string]struct {
		text string
		want map[string]string // read-only or not, by path
	}{
		"as it is":        {string(text), map[string]string{socket: "writable", state: "writable"}},
		"with thresholds": {regexp.MustCompile(`(?m)^( +)# (- |  )`).ReplaceAllString(string(text), "$1$2"), map[string]string{socket: "writable", state: "writable", images: "read-only"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.DaemonSet{}
			if err := yaml.UnmarshalStrict([]byte(test.text), d); err != nil {
				t.Fatal(err)
			}
			container := d.Spec.Template.Spec.Containers[0]
			o := &options{}
			if err := o.flags().Parse(container.Args); err != nil {
				t.Error(err)
			}
			from := map[string]string{}
			for _, v := range d.Spec.Template.Spec.Volumes {
				from[v.Name] = v.HostPath.Path
			}
			mounts := map[string]string{}
			for _, m := range container.VolumeMounts {
				mounts[m.MountPath] = "writable"
				if m.ReadOnly {
					mounts[m.MountPath] = "read-only"
				}
				if from[m.Name] != m.MountPath {
					t.Errorf("%s is %s of the host", m.MountPath, from[m.Name])
				}
			}
			if diff := cmp.Diff(test.want, mounts); diff != "" {
				t.Errorf("mounts: -want +got\n%s", diff)
			}
			if mounts[strings.TrimPrefix(o.config.Endpoint, "unix://")] == "" || mounts[o.config.StateDir] == "" {
				t.Errorf("%s or %s is not mounted", o.config.Endpoint, o.config.StateDir)
			}
		})
	}
}

func TestFlagsThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct{ arg, want string }{
		"unknown":         {"--no-such-flag", "unknown flag"},
		"an argument":     {"images", `unexpected argument "images"`},
		"no such file":    {"--kubeconfig=/no/such/file", "no API server"},
		"a bare duration": {"--interval=30", "invalid argument"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse([]string{test.arg}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
}
