"""Hugging Face's Trainer, which makes the DataLoader itself."""

import torch
from transformers import Trainer, TrainingArguments

import stack


class Model(torch.nn.Module):
    def __init__(self, args):
        super().__init__()
        self.net = stack.Net(args)

    def forward(self, x):
        return {"loss": self.net(x)}


class Examples(stack.Items):
    def __getitem__(self, index):
        return {"x": super().__getitem__(index)}


def main():
    args = stack.arguments(__doc__)
    model = Model(args)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=args.folder, max_steps=args.steps, per_device_train_batch_size=stack.BATCH, use_cpu=True,
            report_to="none", save_strategy="no", logging_strategy="no", remove_unused_columns=False,
            dataloader_num_workers=args.workers),
        train_dataset=Examples(args))
    trainer.train()
    model.net.result()


if __name__ == "__main__":
    main()
