package cli

import (
	"os"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/job"
)

// nodeNames replaces %j, %n, %h and %p in names of files, so that one command line serves all nodes of a job: by the
// job's id and the rank of the node as this process's own environment has them, the host, and the process. %% is a
// percent sign, any other % is itself.
func nodeNames(env Env, paths []string) (out []string, err error) {
	place := job.PlaceOf(env.Getenv)
	for _, path := range paths {
		var b strings.Builder
		for i := 0; i < len(path); i++ {
			if path[i] != '%' || i+1 == len(path) {
				b.WriteByte(path[i])
				continue
			}
			i++
			value, missing := "", ""
			switch path[i] {
			case 'j':
				value, missing = place.JobID, "names no job (SLURM_JOB_ID, TORCHELASTIC_RUN_ID)"
			case 'n':
				if place.NodeRank != nil {
					value = strconv.Itoa(*place.NodeRank)
				}
				missing = "numbers no node (GROUP_RANK, PET_NODE_RANK, JOB_COMPLETION_INDEX, SLURM_NODEID)"
			case 'h':
				if value, err = os.Hostname(); err != nil {
					return nil, fail(exitUsage, "", "-o %s: %w", path, err)
				}
				value, _, _ = strings.Cut(value, ".")
			case 'p':
				value = strconv.Itoa(os.Getpid())
			case '%':
				value = "%"
			default:
				value = path[i-1 : i+1]
			}
			if value == "" {
				return nil, fail(exitUsage, "use %h for the host, or %p for the process",
					"-o %s: %%%c: the environment %s", path, path[i], missing)
			}
			if strings.IndexByte("jh", path[i]) >= 0 {
				value = fileWord(value)
			}
			b.WriteString(value)
		}
		out = append(out, b.String())
	}
	return out, nil
}

// fileWord makes a word of what somebody else chose that leads to no other folder.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
}
