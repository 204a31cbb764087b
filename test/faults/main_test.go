package faults_test

import (
	"os"
	"testing"

	"github.com/sunset-k8s/sunset/test/faults/scene"
)

func TestMain(m *testing.M) { os.Exit(scene.Main(m)) }
