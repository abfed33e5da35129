"""tf.data feeds a trainer of PyTorch: its own threads map items, which wait for the interpreter where the function is Python."""

import numpy
import tensorflow as tf
import torch

import stack


def main():
    args = stack.arguments(__doc__)
    data = stack.Items(args)

    def item(index):
        value = tf.numpy_function(lambda at: data[int(at)].numpy(), [index], tf.float32)
        value.set_shape([stack.FEATURES])
        return value

    batches = (tf.data.Dataset.range(len(data)).map(item, num_parallel_calls=args.workers).batch(stack.BATCH).prefetch(2))
    stack.train(args, (torch.from_numpy(numpy.array(batch)) for batch in batches.as_numpy_iterator()))


if __name__ == "__main__":
    main()
