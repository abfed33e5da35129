"""A loader for each of thousands of tasks, as in few-shot learning and PPO, beside some that stay: what the hook keeps of them must not grow with their
number. Prints what was really taken, and what the hook keeps, as JSON."""

import json
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

TASKS = 3000
HALF = 40  # tasks between two that are left after the first batch
CHECK = 100  # tasks between two looks at the loader that stays
CREW = 600  # tasks between two whose loader has a worker
IDLE = 1.2  # seconds; a worker without work for 1 s tells what it made, and one that ends only if it is heard within 3 ms
DATA = torch.zeros(64, 3)


class Task(Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return DATA[index]


def task(number):
    loader = DataLoader(Task(6 + number % 5), batch_size=4, shuffle=True)  # tasks
    steps = 0
    for _ in loader:
        steps += 1
        if number % HALF == 0:
            break
    return steps


def crew():
    loader = DataLoader(Task(8), batch_size=4, num_workers=1)  # crew
    batches = iter(loader)
    steps = len([next(batches) for _ in range(2)])
    time.sleep(IDLE)
    return steps + len(list(batches))


def pair():
    left, right = [DataLoader(Task(8), batch_size=2) for _ in range(2)]  # pair
    return 2 * len(list(zip(left, right)))


def sizes():
    state = sys.modules.get("pipetune_hook.state")
    if state is None:
        return {}
    process = state.process
    kept = {name: len(getattr(process, name)) for name in ("loops", "works", "open", "epochs", "taken")}
    kept["sites"] = sum([len(loop.sites) for loop in process.loops.values()])
    kept["on"] = process.on
    return kept


def main():
    stays = DataLoader(TensorDataset(DATA), batch_size=32)  # stays
    last = DataLoader(TensorDataset(DATA))  # last
    taken = {"tasks": 0, "stays": 0, "crew": 0, "pair": 0}
    for number in range(TASKS):
        taken["tasks"] += task(number)
        if number % CHECK == 0:
            with torch.no_grad():
                taken["stays"] += len(list(stays))
        if number % CREW == 0:
            taken["crew"] += crew()
            taken["pair"] += pair()
    print(json.dumps({"taken": taken, "kept": sizes()}))
    for _ in range(100):  # what is left is told, as fast as it is taken
        time.sleep(0.02)
        next(iter(last))


main()
