// Package trackernoise takes the warnings of Python's own multiprocessing.resource_tracker out of what a job wrote to
// stderr, and counts them.
//
// A job with spawned workers has a process of Python's that removes semaphores whose owner did not. Whether the owner
// comes first at the end of a job is a race within Python, so some bare runs of a job write these warnings and others
// do not. A test that holds the stderr of two runs to each other byte for byte takes exactly these lines out, and says
// how often it did. Nothing else is taken out: not a traceback of the tracker, not a warning of anybody else, not one
// that is cut short.
package trackernoise

import "regexp"

// warning is one of the tracker's two: objects that were left to it, or one that was gone when it came to remove it.
// The line after it is the source line that Python's warnings show. From Python 3.13 on the first one names the
// objects.
var warning = regexp.MustCompile(
	`(?m)^/[^\n]*/multiprocessing/resource_tracker\.py:[0-9]+: UserWarning: resource_tracker: ` +
		`(?:There appear to be [0-9]+ leaked (?:semaphore|shared_memory) objects to clean up at shutdown(?:: \{[^\n]*\})?` +
		`|'/[^'\n]*': \[Errno [0-9]+\] [^\n]*)\n` +
		`  warnings\.warn\([^\n]*\n`)

// Strip returns stderr without the tracker's warnings, and how many there were.
func Strip(stderr string) (rest string, warnings int) {
	return warning.ReplaceAllString(stderr, ""), len(warning.FindAllStringIndex(stderr, -1))
}
