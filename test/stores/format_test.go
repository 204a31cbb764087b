// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/stores"
)

// TestCommandsOfTheFormatPage runs every command of docs/reference/archive-format.md in a directory with an archive. A command that needs
// a program that is not installed is skipped.
func TestCommandsOfTheFormatPage(t *testing.T) {
	dir, open, sealed := archiveReports(t)
	page, err := os.ReadFile("../../docs/reference/archive-format.md")
	expect.NoError(t, err)
	var commands []string
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n").FindAllStringSubmatch(string(page), -1) {
		commands = append(commands, strings.Split(block[1], "\n")...)
	}
	want := []string{
		"Job\tshop\treport-27\nJob\tshop\treport-28\n",
		"\"name\": \"report-29\"",
		fmt.Sprintf("[%q,1]\n", open),
		"\"name\": \"report-28\"",
		"",
	}
	expect.Equal(t, "commands of the page", len(want), len(commands))
	placeholders := strings.NewReplacer("SEGMENT.jsonl.zst.age", sealed, "SEGMENT", open, "LINE", "1")
	for i, command := range commands {
		t.Run(command, func(t *testing.T) {
			got, err := shell(t, dir, placeholders.Replace(command))
			if err != nil || !strings.Contains(got, want[i]) || want[i] == "" && got != "" {
				t.Errorf("%v: %q, want %q", err, got, want[i])
			}
		})
	}
	expect.NoError(t, os.WriteFile(filepath.Join(dir, open), []byte("damaged"), 0o600))
	if got, err := shell(t, dir, commands[len(commands)-1]); err == nil || !strings.Contains(got, open) {
		t.Errorf("the last command accepts a damaged archive: %q", got)
	}
}

// shell runs a command in bash, and returns what it prints.
func shell(t *testing.T, dir, command string) (string, error) {
	t.Helper()
	for _, program := range []string{"bash", "zstd", "jq", "age", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil && strings.Contains(" bash "+command, " "+program+" ") {
			t.Skip("the command of the page cannot run: ", err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", command)
	cmd.Dir = dir
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err := cmd.Run()
	return printed.String(), err
}

// archiveReports archives three Jobs of a day in a directory, the last of them in an encrypted segment for key.txt. It returns the names
// of the segments.
func archiveReports(t *testing.T) (dir, open, sealed string) {
	t.Helper()
	s := stores.Files(t)
	bucket := opened(t, s, "")
	identity, err := age.GenerateX25519Identity()
	expect.NoError(t, err)
	expect.NoError(t, os.WriteFile(filepath.Join(s.Dir, "key.txt"), []byte(identity.String()+"\n"), 0o600))
	at, index := time.Date(2026, 11, 27, 2, 15, 0, 0, time.UTC), archive.NewIndexer(bucket)
	write := func(b *archive.Builder, names ...string) string {
		for _, name := range names {
			object := fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":"shop","uid":%[1]q,"resourceVersion":"7"}}`, name)
			_, err := b.Add(audit.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: "7"},
				archive.Record{ArchivedAt: at, Policy: "batch", Rule: "done", Due: at, Reason: "Expired", Object: json.RawMessage(object)})
			expect.NoError(t, err)
		}
		s, err := b.Seal(at)
		expect.NoError(t, err)
		expect.NoError(t, bucket.Write(t.Context(), s.Name, s.Data))
		index.Add(s)
		return s.Name
	}
	open, sealed = write(archive.NewBuilder(), "report-27", "report-28"), write(archive.NewBuilder(identity.Recipient()), "report-29")
	index.Finish(open, 1, archive.Deleted, at)
	expect.NoError(t, index.Flush(t.Context(), at))
	return s.Dir, open, sealed
}
