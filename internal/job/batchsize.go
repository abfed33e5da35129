package job

import (
	"strconv"
	"strings"
)

// batchSizeFlags are the spellings of PyTorch's own examples, timm, Hugging Face's Trainer, Lightning's CLI and Ultralytics.
// "-b" is what pytorch/examples and torchvision's references use.
var batchSizeFlags = map[string]bool{
	"--batch-size": true, "--batch_size": true, "--batchsize": true, "-b": true, "--bs": true, "--train-batch-size": true, "--train_batch_size": true,
	"--per-device-train-batch-size": true, "--per_device_train_batch_size": true, "--data.batch_size": true, "--train.batch_size": true,
}

// batchSizePairs are the same for programs configured by key=value (Hydra, Ultralytics).
var batchSizePairs = map[string]bool{
	"batch_size": true, "batch": true, "data.batch_size": true, "train.batch_size": true, "dataloader.batch_size": true, "training.batch_size": true,
}

// maxBatchSize refuses what cannot be a batch size; the largest batches ever trained with had some 10^5 samples.
const maxBatchSize = 1 << 24

// batchSizeOf returns the batch size a command line asks for, 0 where it names none. The last mention stands, as with argparse.
func batchSizeOf(argv [][]byte) int {
	size := 0
	for i, raw := range argv {
		if len(raw) > 256 {
			continue
		}
		arg := string(raw)
		name, value, pair := strings.Cut(arg, "=")
		switch {
		case pair && (batchSizeFlags[name] || batchSizePairs[strings.TrimLeft(name, "+")]):
		case !pair && batchSizeFlags[arg] && i+1 < len(argv):
			value = string(argv[i+1])
		case !pair && strings.HasPrefix(arg, "-b") && len(arg) > 2: // -b64
			value = arg[2:]
		default:
			continue
		}
		if n, err := strconv.Atoi(value); err == nil && n > 0 && n <= maxBatchSize {
			size = n
		}
	}
	return size
}
