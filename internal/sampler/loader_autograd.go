package sampler

import (
	"slices"
)

// autogradThreads are the threads that run a trainer's backward pass, one for each device. While they run, the main
// thread sleeps in a futex without a time-out, which by itself looks like a wait for the device.
type autogradThreads struct {
	threads   []*watchedThread // in the order of their numbers
	counts    sampleCounts     // of all as one
	discarded sampleCounts     // of each, which nobody reads
}

func (a *autogradThreads) watch(of *trainer, tids []int) {
	a.threads = slices.DeleteFunc(a.threads, func(t *watchedThread) bool {
		if slices.Contains(tids, t.task.TID) {
			return false
		}
		t.close()
		return true
	})
	for i, tid := range tids {
		if slices.ContainsFunc(a.threads, func(t *watchedThread) bool { return t.task.TID == tid }) {
			continue
		}
		task, err := of.main.proc.Task(tid)
		if err != nil {
			continue // it ended since
		}
		a.threads = slices.Insert(a.threads, min(i, len(a.threads)), &watchedThread{task: task, links: of.main.links,
			counts: &a.discarded, python: &of.python})
	}
}

// sample samples all of them, counts what they do as one, and reports whether any of them runs.
func (a *autogradThreads) sample(scratch *sampleScratch) (running bool) {
	first, found := classOther, false
	a.threads = slices.DeleteFunc(a.threads, func(t *watchedThread) bool {
		class, ok := t.sample(scratch)
		if !ok {
			t.close()
			return true
		}
		running = running || class == classRunning || class == classGIL
		if !found {
			first, found = class, true
		}
		return false
	})
	switch {
	case running:
		a.counts.add(classRunning)
	case found:
		a.counts.add(first)
	}
	return running
}

func (a *autogradThreads) close() {
	for _, t := range a.threads {
		t.close()
	}
	a.threads = nil
}
