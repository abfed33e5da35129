package sampler

import "bytes"

// wchanRule maps kernel functions, in which a thread sleeps, to a class.
type wchanRule struct {
	part  string // found anywhere in the function's name
	class waitClass
}

// wchanRules are tried in order. The names are those of Linux 5.10 to 6.18 as seen in /proc/PID/wchan, or in the source
// of the file system named; a part of the name is enough because compilers append suffixes and versions rename
// (pipe_read became anon_pipe_read, futex_wait_queue_me became futex_do_wait).
var wchanRules = []wchanRule{
	{"do_signal_stop", classStopped}, {"ptrace_stop", classStopped}, {"refrigerator", classStopped},
	{"freezer_trap", classStopped},
	{"get_signal", classStopped}, // cgroup v2 freezer: do_freezer_trap is inlined there
	{"locks_lock", classFileLock}, {"flock", classFileLock}, {"posix_lock", classFileLock}, {"lockd", classFileLock},
	{"nlmclnt", classFileLock},
	{"futex", classFutex},
	{"nanosleep", classSleep},
	{"vfork", classChild}, {"kernel_clone", classChild}, {"do_wait", classChild},
	{"pipe_write", classPipeWrite}, {"pipe_wait_writable", classPipeWrite}, {"sock_alloc_send", classPipeWrite},
	{"stream_wait_memory", classPipeWrite},
	{"pipe_read", classPipeRead}, {"pipe_wait", classPipeRead}, {"unix_stream", classPipeRead},
	{"wait_for_more_packets", classPipeRead},
	{"sk_wait_data", classPipeRead}, {"inet_", classPipeRead}, {"tcp_", classPipeRead},
	{"fuse_", classFileRead}, {"request_wait_answer", classFileRead}, {"rpc_", classFileRead}, {"nfs", classFileRead},
	{"netfs", classFileRead}, {"ceph", classFileRead}, {"p9_", classFileRead}, {"cifs", classFileRead},
	{"smb", classFileRead},
	{"ll_file", classFileRead}, {"cl_sync_io", classFileRead}, {"osc_", classFileRead}, {"ptlrpc", classFileRead},
	{"gpfs", classFileRead},
	{"cxiWait", classFileRead}, // IBM Storage Scale's module
	{"folio_wait", classFileRead}, {"wait_on_page", classFileRead}, {"io_schedule", classFileRead},
	{"blk_", classFileRead},
	{"do_get_write_access", classFileRead}, {"rq_qos_wait", classFileRead}, {"throtl", classFileRead},
	{"submit_bio_wait", classFileRead},
	{"rwsem_", classFutex}, // state D: the process' own memory map, held by another of its threads
	{"do_poll", classQueuePoll}, {"poll_schedule", classQueuePoll},
	{"do_select", classSleep}, {"nv_", classDevice}, {"nvidia", classDevice},
}

// classifyWchan reads the kernel function a thread sleeps in. In poll it says classQueuePoll, though the number of
// descriptors and the time-out cannot be seen.
func classifyWchan(wchan []byte) (waitClass, bool) {
	if len(wchan) == 0 || (len(wchan) == 1 && wchan[0] == '0') {
		return classOther, false
	}
	for i := range wchanRules {
		if bytes.Contains(wchan, []byte(wchanRules[i].part)) {
			return wchanRules[i].class, true
		}
	}
	return classOther, false
}
