package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// version and commit are set by the linker in a release build.
var (
	version = "0.1.0-dev"
	commit  = ""
)

func tool() recording.Tool { return recording.Tool{Name: "pipetune", Version: version, Commit: commit} }

// ofTool is the same for reports.
func ofTool() report.Tool { return report.Tool{Name: tool().Name, Version: version, Commit: commit} }

func newVersion(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "version, schemas and build",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(env.Stdout, versionText())
			return err
		},
	}
}

func versionText() string {
	return fmt.Sprintf("pipetune %s\ncommit    %s\nreport    %s %s\nrecording %s %s\nhook      %s\nbuilt by  %s for "+
		"%s/%s\n", version, cmp.Or(commit, "unknown"), report.Schema, report.SchemaVersion, recording.Schema,
		recording.SchemaVersion, cmp.Or(hook.Digest(), "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
