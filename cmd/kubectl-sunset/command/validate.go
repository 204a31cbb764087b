package command

import (
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/inventory"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/engine"
)

// validate is the command of that name.
type validate struct {
	streams    genericiooptions.IOStreams
	files      fileFlags
	protection protectionFlags
	output     choice
}

func newValidate(streams genericiooptions.IOStreams) *cobra.Command {
	v := &validate{streams: streams, output: choice{value: "text", of: []string{"text", "json"}}}
	c := &cobra.Command{
		Use:     "validate -f FILE|DIRECTORY...",
		Short:   "Say everything that is wrong with policies",
		Long:    validateHelp,
		Example: validateExamples,
		RunE:    func(_ *cobra.Command, args []string) error { return v.run(args) },
	}
	v.files.add(c.Flags())
	v.protection.add(c.Flags())
	c.Flags().VarP(&v.output, "output", "o", "how to write the problems")
	return c
}

func (v *validate) run(args []string) error {
	if len(v.files.names) == 0 {
		return errors.New("no files; name them with -f")
	}
	files, err := v.files.open(args, v.streams.In)
	if err != nil {
		return err
	}
	defer files.Close()
	loader, err := v.protection.loader(engine.Options{})
	if err != nil {
		return err
	}
	in, err := inventory.Read(files, loader)
	if err != nil {
		return err
	}
	in.Apart(false)
	if err := v.print(files.Len(), in); err != nil {
		return err
	}
	if in.Problems() > 0 {
		return errFindings
	}
	return nil
}

func (v *validate) print(files int, in *inventory.Inventory) error {
	if v.output.value == "json" {
		return report.ValidationJSON(v.streams.Out, files, in)
	}
	report.Problems(v.streams.Out, in.Policies)
	report.Warnings(v.streams.Out, in.Policies)
	report.ValidationSummary(v.streams.Out, files, in)
	return nil
}

const validateHelp = `Say everything that is wrong with the policies in files: with file, document, field, line and column inside the
expression, and a hint at what to write. Unknown and repeated fields are wrong too: nothing is ignored.

Files are YAML or JSON and may hold many documents, lists, and objects of other kinds, which are skipped and counted.
Of a directory the files that end in .yaml, .yml or .json are read. No cluster is asked.

What may be a mistake, such as images that go after minutes, is a warning: the policy is valid all the same.

Exit codes: 0 every policy is valid; 1 there are problems; 2 wrong usage, or a file that cannot be read or parsed.`

const validateExamples = `  # Check one file
  kubectl sunset validate -f policy.yaml

  # Check everything below a directory, for a program
  kubectl sunset validate -R -f policies/ -o json

  # Check what a chart renders
  helm template ./chart | kubectl sunset validate -f -`
