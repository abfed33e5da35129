"""PyTorch Geometric: its DataLoader, which puts graphs together to one. NeighborLoader needs pyg-lib or torch-sparse, which PyPI has no builds of."""

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

import stack


class Graphs(stack.Items):
    def __getitem__(self, index):
        nodes = super().__getitem__(index).unsqueeze(0)
        return Data(x=nodes, edge_index=torch.zeros(2, 1, dtype=torch.long))


def main():
    args = stack.arguments(__doc__)
    loader = DataLoader(Graphs(args), batch_size=stack.BATCH, shuffle=True, num_workers=args.workers)
    stack.train(args, (graph.x for graph in loader))


if __name__ == "__main__":
    main()
