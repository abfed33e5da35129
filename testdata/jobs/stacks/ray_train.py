"""Ray Train: the training loop runs in an actor that Ray starts, with a DataLoader of its own."""

import os

import ray
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_data_loader
from torch.utils.data import DataLoader

import stack


def loop(config):
    args = config["args"]
    torch.manual_seed(7)  # the driver's seed is not the actor's
    loader = DataLoader(stack.Items(args), batch_size=stack.BATCH, num_workers=args.workers)
    stack.train(args, prepare_data_loader(loader))


def main():
    args = stack.arguments(__doc__)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=True)
    TorchTrainer(loop, train_loop_config={"args": args}, scaling_config=ScalingConfig(num_workers=1),
                 run_config=RunConfig(storage_path=os.path.abspath(args.folder))).fit()
    ray.shutdown()


if __name__ == "__main__":
    main()
