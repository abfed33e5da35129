"""What a program can see of how its interpreter was started, and that training works: printed, to be the same with a guest and without."""

import builtins
import os
import subprocess
import sys

print("sitecustomize ran", getattr(builtins, "site_runs", 0), "usercustomize ran", getattr(builtins, "user_runs", 0))
print("path", sys.path[1:])
print("flags", sys.flags.isolated, sys.flags.ignore_environment, sys.flags.no_site, sys.flags.no_user_site)
if "torch" in sys.argv:
    from torch.utils.data import DataLoader

    print("batches", len(list(DataLoader(list(range(8)), 2))))
child = "import sys, os, builtins; print('child', sys.path[1:], os.environ.get('PYTHONPATH'), getattr(builtins, 'site_runs', 0))"
print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True).stdout, end="")
grandchild = "import subprocess, sys; print(subprocess.run([sys.executable, '-c', sys.argv[1]], capture_output=True, text=True, check=True).stdout, end='')"
print("grand" + subprocess.run([sys.executable, "-c", grandchild, child], capture_output=True, text=True, check=True).stdout, end="", flush=True)
