"""Steps of a millisecond for a second or two, with a file that says when half of them are done."""

import os
import sys
import time

import torch
from torch.utils.data import DataLoader


def main():
    count = int(sys.argv[1])
    data = [torch.tensor(each) for each in range(count)]
    total = 0
    for number, batch in enumerate(DataLoader(data, 1, num_workers=int(sys.argv[2]))):
        time.sleep(0.001)
        total += int(batch)
        if number == count // 2:
            open(os.path.join(os.environ["FOLDER"], "half"), "w").close()
            time.sleep(0.3)
    print(total)


if __name__ == "__main__":
    main()
