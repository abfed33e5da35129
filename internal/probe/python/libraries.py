"""Says which libraries that read datasets this interpreter has, with their versions, as one line of JSON.

Nothing heavy is imported: finding a package and reading its metadata takes milliseconds, importing torch takes seconds.
"""

import importlib
import importlib.metadata
import importlib.util
import json
import platform
import sys

# What it is called, what is imported, the distributions it may come from, and whether importing it to ask its version
# is cheap.
LIBRARIES = [
    ("Pillow", "PIL", ["pillow", "pillow-simd", "Pillow-SIMD"], True),
    (
        "OpenCV",
        "cv2",
        [
            "opencv-python",
            "opencv-python-headless",
            "opencv-contrib-python",
            "opencv-contrib-python-headless",
            "opencv",
        ],
        True,
    ),
    ("torchvision", "torchvision", ["torchvision"], False),
    ("h5py", "h5py", ["h5py"], True),
    ("numpy", "numpy", ["numpy"], True),
    ("torch", "torch", ["torch"], False),
]


def version(module, distributions, cheap):
    for name in distributions:
        try:
            return importlib.metadata.version(name)
        except Exception:  # no such metadata, or broken metadata: the module itself may know
            pass
    if cheap:
        return str(getattr(importlib.import_module(module), "__version__", ""))
    return ""


def main():
    found = [["Python", platform.python_version()]]
    for name, module, distributions, cheap in LIBRARIES:
        try:
            if importlib.util.find_spec(module) is not None:
                found.append([name, version(module, distributions, cheap)])
        except Exception:  # a library that cannot be imported is as good as none
            pass
    sys.__stdout__.write("\n" + PREFIX + json.dumps({"libraries": found}) + "\n")
    sys.__stdout__.flush()


main()
