"""What torch's DataLoader adds to an item that has been read, and what an item takes that it reads."""

QUICK_BATCH = 0.1  # seconds: of a slower one, 3 ms an item, what the parts take is most of it, and there is no time


def keep_freed_memory():
    """Has glibc keep what is freed for the next batch, as it does in a process whose heap nothing else has cut up: of
    batches of 1.5 MiB 25 % fewer come where each is made of new pages."""
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD
        mallopt(-3, 32 << 20)  # M_MMAP_THRESHOLD, the most that glibc raises it to by itself


def torch_subjects(source, items, batch):
    """What the DataLoader adds to each item once it is an array: making tensors and batches of them, and the way from a
    worker process to the main one. And, of quick items, what one takes that a worker reads and hands over."""
    torch, numpy = library("torch"), library("numpy")
    if torch is None or numpy is None:
        return []
    from torch.utils.data import DataLoader, Dataset, default_collate

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as a worker process does
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

    def begun(dataset, collate_fn=None, workers=1):
        """Has a worker process, or this one, make batches of a dataset."""
        forked = {
            "worker_init_fn": lambda _: source.forked(),
            "timeout": 10,
            "multiprocessing_context": "fork",
        }
        made = iter(
            DataLoader(
                dataset,
                batch_sampler=endless(n if collate_fn else len(items)),
                num_workers=workers,
                collate_fn=collate_fn,
                **(forked if workers else {}),
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

    def reading(made, threads):
        batch = []  # held until the next one is there, as `for batch in loader` does

        def one(_):
            if not batch:
                torch.set_num_threads(threads)
                keep_freed_memory()
            try:
                batch[:] = [next(made)]
            except Exception:
                raise Refused("items of a batch differ in shape, or one cannot be read")

        return one

    one = [0]
    subjects = [Subject("item_time_s", dict(labels, decoder="torch as_tensor"), one, convert, weight=n)]
    try:
        batches = begun(Memory(), timed)
    except Exception as e:
        NOTES.append("torch's collate was left out: a DataLoader's worker failed: " + first_line(e))
        return subjects
    reads = []
    if looked == n and quick:
        # Of quick items what the parts take does not add up: arrays that are held leave the CPU's caches. Those that
        # differ in shape are left to the job's own collate.
        for name, workers in (("torch reading", 1), ("torch in process", 0)):
            try:
                reads.append((dict(labels, workers=str(workers), decoder=name), begun(Sampled(), workers=workers)))
            except Exception as e:
                NOTES.append("a DataLoader that reads the items was left out: it failed: " + first_line(e))
    # They come last and alone: a worker that is not waited for makes batches in advance.
    collated = dict(labels, decoder="torch collate")
    subjects.append(Subject("item_time_s", collated, one, collate, weight=n, alone=True, tells=True))
    handed = dict(labels, workers="1", decoder="torch dataloader")
    subjects.append(Subject("item_time_s", handed, one, loader, weight=n, alone=True))
    for loaded, made in reads:
        subjects.append(Subject("item_time_s", loaded, one, reading(made, threads), weight=n, alone=True))
    return subjects
