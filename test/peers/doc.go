// SPDX-License-Identifier: Apache-2.0

// Command peers compares what kor, popeye and kubectl sunset unused report about the same objects of one control plane: the
// objects of the samples about unused objects. The want.yaml of each sample says which of its objects are kept. The
// programs of the other tools are not built here: give their paths with -kor and -popeye.
package main
