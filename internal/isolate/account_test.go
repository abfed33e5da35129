package isolate

// Stuck says how many children are abandoned at the moment.
func (r *Runner) Stuck() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stuck
}

// Rest ends the idle process now instead of some seconds later; the next call starts one again.
func (p *Paths) Rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endIdle()
}
