"""What torch's DataLoader adds to an item that has been read, and what an item takes that it reads."""

QUICK_BATCH = 0.1  # seconds: of a slower one, 3 ms an item, what the parts take is most of it, and there is no time


def torch_subjects(source, items, batch):
    """What the DataLoader adds to each item once it is an array: making tensors and batches of them, and the way from a
    worker process to the main one. And, of quick items, what one takes that a worker reads and hands over."""
    torch, numpy = library("torch"), library("numpy")
    if torch is None or numpy is None:
        return []
    from torch.utils.data import DataLoader, Dataset, default_collate

    torch.set_num_threads(1)
    arrays = []
    held = looked = 0
    start = clock()
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
    n, quick = len(arrays), clock() - start <= QUICK_BATCH
    labels = {"version": torch.__version__, "batch_size": str(n)}

    class Memory(Dataset):
        def __getitem__(self, i):
            return arrays[i]

    class Sampled(Dataset):
        def __getitem__(self, i):
            return numpy.asarray(source.array(items[i]))

    def endless(count):
        at = 0
        while True:
            yield [(at + i) % count for i in range(n)]
            at += n

    def begun(dataset, collate_fn=None):
        """Has a worker process make batches of a dataset."""
        made = iter(
            DataLoader(
                dataset,
                batch_sampler=endless(n if collate_fn else len(items)),
                num_workers=1,
                collate_fn=collate_fn,
                worker_init_fn=lambda _: source.forked(),
                timeout=10,
                multiprocessing_context="fork",
            )
        )
        next(made)
        return made

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

    def reader(_):
        try:
            next(read)
        except Exception:
            raise Refused("items of a batch differ in shape, or one cannot be read")

    one = [0]
    subjects = [Subject("item_time_s", dict(labels, decoder="torch as_tensor"), one, convert, weight=n)]
    try:
        batches = begun(Memory(), timed)
    except Exception as e:
        NOTES.append("torch's collate was left out: a DataLoader's worker failed: " + first_line(e))
        return subjects
    read = None
    if looked == n and quick:
        # Of quick items what the parts take does not add up: arrays that are held leave the CPU's caches. Those that
        # differ in shape are left to the job's own collate.
        try:
            read = begun(Sampled())
        except Exception as e:
            NOTES.append("a DataLoader that reads the items was left out: its worker failed: " + first_line(e))
    # They come last and alone: a worker that is not waited for makes batches in advance.
    collated = dict(labels, decoder="torch collate")
    subjects.append(Subject("item_time_s", collated, one, collate, weight=n, alone=True, tells=True))
    handed, loaded = (dict(labels, workers="1", decoder=name) for name in ("torch dataloader", "torch reading"))
    subjects.append(Subject("item_time_s", handed, one, loader, weight=n, alone=True))
    if read is not None:
        subjects.append(Subject("item_time_s", loaded, one, reader, weight=n, alone=True))
    return subjects
