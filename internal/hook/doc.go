// Package hook is the optional part of pipetune that runs inside a launched job: an embedded Python hook, and the
// receiver of what it tells.
//
// The hook rides on PYTHONPATH as a sitecustomize that hands on to the person's own. It wraps what it needs when
// torch.utils.data, h5py, PIL and cv2 are imported, and sends running totals as Unix datagrams (message.go is their
// form). It promises to be a guest: no thread, no lock, no finalizer, no atexit in the job, nothing that blocks,
// nothing written; whatever fails inside it switches it off and lets the job run on.
//
// The receiver is a sampler: it takes datagrams as they come, adds up what processes reported, and records the totals
// at each tick. It trusts no sender: another user's, or one outside of the job, is refused and counted, and what a
// message holds is checked and bounded like any foreign input.
package hook
