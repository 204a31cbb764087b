// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/xml"
	"io"
	"strings"
)

// asJUnit is the format in which continuous integration reads the results of tests.
const asJUnit = "junit"

// junitReport is the root of a JUnit XML file.
type junitReport struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes the report as JUnit XML.
func (r *TestReport) writeJUnit(w io.Writer) error {
	suite := junitSuite{Name: "kubectl sunset test", Tests: len(r.Tests), Failures: r.Failed}
	for _, t := range r.Tests {
		one := junitCase{Class: suite.Name, Name: t.Directory}
		if t.Result == testFailed {
			one.Failure = &junitFailure{Message: "the decisions differ from those in want.yaml", Text: strings.Join(t.Differences, "\n")}
		}
		suite.Cases = append(suite.Cases, one)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitReport{Suite: suite}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
