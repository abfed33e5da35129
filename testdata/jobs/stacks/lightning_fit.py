"""Lightning: a LightningDataModule, and Trainer.fit with its progress bar."""

import lightning
import torch
from torch.utils.data import DataLoader

import stack


class Data(lightning.LightningDataModule):
    def __init__(self, args):
        super().__init__()
        self.args = args

    def train_dataloader(self):
        return DataLoader(stack.Items(self.args), batch_size=stack.BATCH, shuffle=True, num_workers=self.args.workers)


class Module(lightning.LightningModule):
    def __init__(self, args):
        super().__init__()
        self.net = stack.Net(args)

    def training_step(self, batch, batch_idx):
        loss = self.net(batch)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    args = stack.arguments(__doc__)
    module = Module(args)
    trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False)
    trainer.fit(module, datamodule=Data(args))
    print()  # after the progress bar
    module.net.result()


if __name__ == "__main__":
    main()
