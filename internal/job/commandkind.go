package job

import (
	"path"
	"strings"
)

// commandKind is what a command line says its process is for.
type commandKind uint8

const (
	ordinary   commandKind = iota
	spawnChild             // python -c "from multiprocessing.spawn import spawn_main; …" --multiprocessing-fork
	// python -c "from multiprocessing.forkserver import main; …"; its children keep this command line
	forkServer
	tracker        // python -c "from multiprocessing.resource_tracker import main; …"
	shmManager     // torch_shm_manager
	distributedRun // torchrun and its like
)

// distributed are modules and programs that start one trainer per rank and wait. Sources: torch/distributed/run.py and
// launch.py, accelerate's and DeepSpeed's console scripts, horovodrun, lightning's fabric.
var distributed = map[string]bool{
	"torchrun": true, "torch.distributed.run": true, "torch.distributed.launch": true,
	"torch.distributed.elastic": true, "accelerate": true, "accelerate-launch": true,
	"accelerate.commands.launch": true, "deepspeed": true, "deepspeed.launcher.launch": true,
	"deepspeed.launcher.runner": true, "horovodrun": true, "composer": true,
}

// classifyCommand looks at a command line. Python writes the helper processes of multiprocessing as -c programs
// (Lib/multiprocessing/spawn.py, forkserver.py and resource_tracker.py of 3.11 to 3.14).
func classifyCommand(argv [][]byte) commandKind {
	if len(argv) == 0 {
		return ordinary
	}
	if base(argv[0]) == "torch_shm_manager" {
		return shmManager
	}
	for i, raw := range argv {
		if i > 32 { // interpreter options come first; what follows are the script's own arguments
			break
		}
		arg := string(raw[:min(len(raw), 512)])
		switch {
		case strings.Contains(arg, "from multiprocessing.spawn import spawn_main"), arg == "--multiprocessing-fork":
			return spawnChild
		case strings.Contains(arg, "from multiprocessing.forkserver import main"):
			return forkServer
		case strings.Contains(arg, "from multiprocessing.resource_tracker import main"):
			return tracker
		}
	}
	if distributed[programOf(argv)] {
		return distributedRun
	}
	return ordinary
}

// programOf is what a command line runs: the module or script of an interpreter, else the program.
func programOf(argv [][]byte) string {
	if !isInterpreter(base(argv[0])) {
		return base(argv[0])
	}
	for i := 1; i < len(argv); i++ {
		switch arg := string(argv[i]); {
		case arg == "-m" && i+1 < len(argv):
			return string(argv[i+1])
		case !strings.HasPrefix(arg, "-"):
			return base(argv[i])
		case arg == "-W" || arg == "-X":
			i++
		}
	}
	return ""
}

func base(raw []byte) string { return path.Base(string(raw)) }

// isInterpreter says whether a program's base name is a Python: python, python3, python3.11, python3.13t, pypy3,
// python3-dbg.
func isInterpreter(name string) bool {
	for _, stem := range []string{"python", "pypy"} {
		if rest, ok := strings.CutPrefix(name, stem); ok {
			return strings.Trim(rest, "0123456789.tdbg-") == ""
		}
	}
	return false
}

// isPython says whether a process is a Python, by its program where that can be seen, else by its command line.
func isPython(exe string, argv [][]byte) bool {
	if exe != "" {
		return isInterpreter(path.Base(strings.TrimSuffix(exe, " (deleted)")))
	}
	return len(argv) > 0 && isInterpreter(base(argv[0]))
}
