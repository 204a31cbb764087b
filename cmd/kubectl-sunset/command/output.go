// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// outputFlags are kubectl's flags for the format of the output. Without them, a command prints text.
type outputFlags struct {
	*genericclioptions.PrintFlags
	printer printers.ResourcePrinter // nil for text
}

// The formats that only some commands support.
const (
	asNames = "name"
	asWide  = "wide"
	asHTML  = "html"
)

// add adds the flags. It checks their values before the command runs. more are formats that only some commands support.
func (f *outputFlags) add(c *cobra.Command, more ...string) {
	f.PrintFlags = genericclioptions.NewPrintFlags("")
	if !slices.Contains(more, asNames) {
		f.NamePrintFlags = nil
	}
	ours := slices.DeleteFunc(slices.Clone(more), func(format string) bool { return format == asNames }) // printed by the command
	formats := addFormats(c, f.PrintFlags, ours...)
	_ = c.Flags().MarkHidden("show-managed-fields")
	c.PreRunE = func(*cobra.Command, []string) (err error) {
		if f.isGiven() && !slices.ContainsFunc(ours, f.is) {
			f.printer, err = printerOf(f.PrintFlags, formats)
		}
		return err
	}
}

// addFormats adds the flags for the format of the output to a command, and returns the names of the formats.
func addFormats(c *cobra.Command, f *genericclioptions.PrintFlags, more ...string) []string {
	f.AddFlags(c)
	formats := slices.Concat(f.AllowedFormats(), []string{asColumns, asColumnsFile}, more)
	c.Flag("output").Usage = "output format: " + strings.Join(formats, ", ") + "; the default is text"
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return formats
}

// printerOf returns the printer of the chosen format.
func printerOf(f *genericclioptions.PrintFlags, formats []string) (printers.ResourcePrinter, error) {
	if columns, err := columnsOf(*f.OutputFormat); columns != nil || err != nil {
		return columns, err
	}
	printer, err := f.ToPrinter()
	if unknown := (genericclioptions.NoCompatiblePrinterError{}); errors.As(err, &unknown) {
		unknown.AllowedFormats = formats
		return nil, unknown
	}
	return printer, err
}

// isGiven reports whether the user chose a format.
func (f *outputFlags) isGiven() bool {
	return *f.OutputFormat != "" || *f.TemplatePrinterFlags.TemplateArgument != ""
}

func (f *outputFlags) is(format string) bool { return strings.EqualFold(*f.OutputFormat, format) }

// print prints a result in the format that the user chose, and otherwise as text. names are the objects of the result.
func (f *outputFlags) print(w io.Writer, result any, text func(io.Writer) error, names ...*metav1.PartialObjectMetadata) error {
	switch {
	case f.printer == nil:
		return text(w)
	case f.is(asNames):
		for _, name := range names {
			if err := f.printer.PrintObj(name, w); err != nil {
				return err
			}
		}
		return nil
	}
	var encoded bytes.Buffer
	e := json.NewEncoder(&encoded)
	e.SetEscapeHTML(false) // < and > are common in expressions and messages
	if err := e.Encode(result); err != nil {
		return err
	}
	if strings.HasPrefix(*f.OutputFormat, "jsonpath") {
		document := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(encoded.Bytes(), &document.Object); err != nil { // unlike the printer, it keeps large integers
			return err
		}
		return f.printer.PrintObj(document, w)
	}
	return f.printer.PrintObj(&runtime.Unknown{Raw: bytes.TrimSpace(encoded.Bytes())}, w)
}

// nameOf returns an object for the format name.
func nameOf(apiVersion, kind, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: metav1.ObjectMeta{Name: name}}
}
