package stat

// RunSpread is what runs of one job differ by, beyond what the windows of a run tell: one standard deviation, of rates
// and times as a share, of ratios in points/100. The same job started six times on a machine that others hardly used:
// 2.1 % in its rate, 2.0 points in its input wait (docs/compare.md has the runs). Where repeated runs vary more, theirs
// counts.
const RunSpread = 0.02
