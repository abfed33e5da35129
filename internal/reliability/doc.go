// Package reliability holds the trials that show that pipetune does no harm and survives everything: each is one row of
// docs/data/reliability.md, named by its id (H: no harm to the job, L: load, F: faults, D: hostile files, N: names and
// text, A: other users, S: supply chain).
//
// A trial makes a fault for real, runs the built binary into it, and holds what happens to a target. What it measures
// goes into its row by measured; a figure that does not reach the target goes there by missed, and the trial goes on.
// It fails unless the miss is a known one, listed with its reason in known_test.go; a listed one that is met fails too.
// What must never be (a job that was touched, a crash, a wrong exit code, something left behind) fails the test by
// Errorf or Fatalf. What cannot be made on the machine is in the table notRun, with the way to run it elsewhere.
//
// Every trial with a job asserts that the job's output and status are those of a bare run, and every trial with a
// pipetune that nothing is left: no process of its session, no file in its TMPDIR, XDG_RUNTIME_DIR or working folder
// but what was asked for.
//
//	make reliability                    all short trials; the rows go to docs/data/reliability.md
//	make reliability RELIABILITY='F8'   those whose id matches the expression
//	make night-trials                   the long ones as well
//
// The trials carry the build tag reliability: `go test ./...` passes over them, `make test` runs some
// quick ones of each group without writing the page.
package reliability
