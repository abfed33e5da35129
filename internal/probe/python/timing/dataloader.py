"""What torch's DataLoader adds to an item that has been read."""


def torch_subjects(source, items, batch):
    """What the DataLoader adds to each item once it is an array: making tensors and batches of them, and the way from a
    worker process to the main one."""
    torch, numpy = library("torch"), library("numpy")
    if torch is None or numpy is None:
        return []
    from torch.utils.data import DataLoader, Dataset, default_collate

    torch.set_num_threads(1)
    arrays = []
    held = looked = 0
    for item in items:
        if len(arrays) >= batch or held >= min(CHUNK_BYTES, Subject.most_held) or looked >= 4 * batch:
            break
        looked += 1
        try:
            got = numpy.asarray(source.array(item))
            torch.as_tensor(got)
        except Exception:
            continue  # of a type that torch does not have: it is left to the job's own code
        if not arrays or got.shape == arrays[0].shape and got.dtype == arrays[0].dtype:
            arrays.append(got)
            held += got.nbytes
    if len(arrays) < min(2, len(items)):
        NOTES.append(
            "torch's collate was left out: the items differ in shape, or are of a type that torch does not have"
        )
        return []
    n = len(arrays)
    labels = {"version": torch.__version__, "batch_size": str(n)}

    class Memory(Dataset):
        def __getitem__(self, i):
            return arrays[i]

    def endless():
        while True:
            yield list(range(n))

    def timed(batch):
        """Collates as a worker process does, into shared memory, and says how long that took."""
        began = clock()
        return default_collate(batch), clock() - began

    def convert(_):
        for a in arrays:
            torch.as_tensor(a)

    def collate(_):
        return next(batches)[1]

    def loader(_):
        next(batches)

    one = [0]
    subjects = [Subject("item_time_s", dict(labels, decoder="torch as_tensor"), one, convert, weight=n)]
    try:
        batches = iter(
            DataLoader(
                Memory(),
                batch_sampler=endless(),
                num_workers=1,
                collate_fn=timed,
                timeout=10,
                multiprocessing_context="fork",
            )
        )
        next(batches)
    except Exception as e:
        NOTES.append("torch's collate was left out: a DataLoader's worker failed: " + first_line(e))
        return subjects
    # They come last and alone: a worker that is not waited for makes batches in advance.
    return subjects + [
        Subject("item_time_s", dict(labels, decoder="torch collate"), one, collate, weight=n, alone=True, tells=True),
        Subject(
            "item_time_s", dict(labels, decoder="torch dataloader", workers="1"), one, loader, weight=n, alone=True
        ),
    ]
