"""A person's own sitecustomize, which must run exactly once."""

import builtins

builtins.own_sitecustomize = getattr(builtins, "own_sitecustomize", 0) + 1
print("own sitecustomize", builtins.own_sitecustomize)
