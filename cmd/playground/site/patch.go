// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// patch replaces text in a file of a module. A patch without replacements empties the file.
type patch struct {
	module, file string
	replace      [][2]string // expressions and replacements
}

// patches leave out what libraries import or initialize, and the engine does not use. This is the HTTP client and TLS, the types of the
// core API, the registry of the types of the API machinery, CBOR, OpenAPI in protobuf, and one of the decoders of JSON.
var patches = []patch{
	{"github.com/go-openapi/swag", "fileutils_iface.go", nil},
	{"github.com/go-openapi/swag", "loading_iface.go", nil},
	{"k8s.io/apimachinery", "pkg/apis/meta/v1/register.go", [][2]string{
		{`var scheme = .*`, "var scheme *runtime.Scheme"},
		{`var ParameterCodec = .*`, "var ParameterCodec runtime.ParameterCodec"},
		{`func init\(\) \{[^}]*\n\}`, ""},
	}},
	{"k8s.io/apimachinery", "pkg/apis/meta/v1/zz_generated.conversion.go", [][2]string{{`func init\(\) \{[^}]*\n\}`, ""}}},
	{"k8s.io/apimachinery", "pkg/runtime/serializer/cbor/direct/direct.go", [][2]string{
		{`"k8s\.io/apimachinery/pkg/runtime/serializer/cbor/internal/modes"`, `"errors"`},
		{`modes\.Encode\.Marshal\(src\)`, "nil, errors.ErrUnsupported"},
		{`modes\.Decode\.Unmarshal\(src, dst\)`, "errors.ErrUnsupported"},
		{`modes\.Diagnostic\.Diagnose\(src\)`, `"", errors.ErrUnsupported`},
	}},
	{"k8s.io/apimachinery", "pkg/util/runtime/runtime.go", [][2]string{{`\t"net/http"\n`, ""}, {`r == http\.ErrAbortHandler`, "false"}}},
	{"k8s.io/apimachinery", "pkg/watch/streamwatcher.go", nil},
	{"k8s.io/apiserver", "pkg/authorization/authorizer/interfaces.go", [][2]string{{`\t"net/http"\n`, ""}, {`\*http\.Request\b`, "any"}}},
	{"k8s.io/apiserver", "pkg/cel/library/authz.go", [][2]string{
		{`\t"k8s\.io/apiserver/pkg/authentication/serviceaccount"\n`, ""},
		{`&serviceaccount\.ServiceAccountInfo\{.*\}`, `&user.DefaultInfo{}; panic("not in a browser")`},
		{`sa\.UserInfo\(\),`, "sa,"},
	}},
	{"k8s.io/kube-openapi", "pkg/validation/spec/gnostic.go", nil},
	{"sigs.k8s.io/structured-merge-diff/v6", "value/value.go", [][2]string{
		{`\t("bytes"|"io"|jsoniter .*)\n`, ""},
		{`(?s)var \(\n\treadPool .*?\n\)\n`, ""},
		{`(?s)// FromJSON is .*?// ToYAML`, "// ToYAML"},
	}},
}

// apply patches a file of a module in a directory. It returns an error if an expression does not match, so that a new version of a
// library is noticed.
func (p patch) apply(dir string) error {
	file := filepath.Join(dir, p.file)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if text, err = p.patched(text); err != nil {
		return fmt.Errorf("%s of %s: %w", p.file, p.module, err)
	}
	return os.WriteFile(file, text, 0o644)
}

func (p patch) patched(text []byte) ([]byte, error) {
	if p.replace == nil {
		return append(regexp.MustCompile(`(?m)^package \w+$`).Find(text), '\n'), nil
	}
	for _, with := range p.replace {
		expression := regexp.MustCompile(with[0])
		if !expression.Match(text) {
			return nil, fmt.Errorf("%q matches nothing; adapt the patch to the new version", with[0])
		}
		text = expression.ReplaceAll(text, []byte(with[1]))
	}
	return text, nil
}
