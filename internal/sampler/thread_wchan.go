package sampler

import "bytes"

// wchanRules map kernel functions, in which a thread sleeps, to a class by a part of their names, and are tried in
// order. The names are those of Linux 5.10 to 6.18 as seen in /proc/PID/wchan, or in the source of the file system
// named; a part of the name is enough because compilers append suffixes and versions rename (pipe_read became
// anon_pipe_read, futex_wait_queue_me became futex_do_wait).
var wchanRules = []struct {
	class waitClass
	parts []string
}{
	// get_signal is the freezer of cgroup v2: do_freezer_trap is inlined there.
	{classStopped, []string{"do_signal_stop", "ptrace_stop", "refrigerator", "freezer_trap", "get_signal"}},
	{classFileLock, []string{"locks_lock", "flock", "posix_lock", "lockd", "nlmclnt"}},
	{classFutex, []string{"futex"}},
	{classSleep, []string{"nanosleep"}},
	{classChild, []string{"vfork", "kernel_clone", "do_wait"}},
	{classPipeWrite, []string{"pipe_write", "pipe_wait_writable", "sock_alloc_send", "stream_wait_memory"}},
	{classPipeRead, []string{"pipe_read", "pipe_wait", "unix_stream", "wait_for_more_packets", "sk_wait_data", "inet_",
		"tcp_"}},
	// cxiWait is of IBM Storage Scale's module.
	{classFileRead, []string{"fuse_", "request_wait_answer", "rpc_", "nfs", "netfs", "ceph", "p9_", "cifs", "smb",
		"ll_file", "cl_sync_io", "osc_", "ptlrpc", "gpfs", "cxiWait", "folio_wait", "wait_on_page", "io_schedule",
		"blk_", "do_get_write_access", "rq_qos_wait", "throtl", "submit_bio_wait"}},
	{classFutex, []string{"rwsem_"}}, // state D: the process' own memory map, held by another of its threads
	{classQueuePoll, []string{"do_poll", "poll_schedule"}},
	{classSleep, []string{"do_select"}},
	{classDevice, []string{"nv_", "nvidia"}},
}

// classifyWchan reads the kernel function a thread sleeps in. In poll it says classQueuePoll, though the number of
// descriptors and the time-out cannot be seen.
func classifyWchan(wchan []byte) (waitClass, bool) {
	if len(wchan) == 0 || (len(wchan) == 1 && wchan[0] == '0') {
		return classOther, false
	}
	for i := range wchanRules {
		for _, part := range wchanRules[i].parts {
			if bytes.Contains(wchan, []byte(part)) {
				return wchanRules[i].class, true
			}
		}
	}
	return classOther, false
}
