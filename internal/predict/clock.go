package predict

import (
	"math"
	"slices"
)

// clock is a resource that those who use it share equally: each gets on at speed rate, which falls as more use it. In
// the resource's own time, which runs at that rate, everyone's demand takes as long as it would alone, so that the
// order in which they end never changes when another comes or goes (processor sharing by virtual time). The wall
// clock is the one whose rate is always 1.
type clock struct {
	now  float64 // own time, seconds
	rate float64 // own seconds per second
	pace float64 // seconds per own second: 1/rate
	due  []float64
	who  []int32 // heap by due; who[0] ends first
}

// reset empties the clock and makes room for n users.
func (c *clock) reset(n int) {
	c.now, c.rate, c.pace = 0, 1, 1
	c.due, c.who = slices.Grow(c.due[:0], n), slices.Grow(c.who[:0], n)
}

// until returns the seconds until the first of its users ends; +Inf without any.
func (c *clock) until() float64 {
	if len(c.due) == 0 {
		return math.Inf(1)
	}
	return max((c.due[0]-c.now)*c.pace, 0)
}

// share makes everyone get on at a fraction of the speed they have alone, above 0 and up to 1.
func (c *clock) share(rate float64) { c.rate, c.pace = rate, 1/rate }

// add lets who use the clock for demand of its own seconds.
func (c *clock) add(who int32, demand float64) {
	at := len(c.due)
	due := c.now + demand
	c.due, c.who = append(c.due, due), append(c.who, who)
	for at > 0 {
		up := (at - 1) / 2
		if c.due[up] <= due {
			break
		}
		c.due[at], c.who[at] = c.due[up], c.who[up]
		at = up
	}
	c.due[at], c.who[at] = due, who
}

// pop takes out the user that ends first.
func (c *clock) pop() int32 {
	first := c.who[0]
	last := len(c.due) - 1
	due, who := c.due[last], c.who[last]
	c.due, c.who = c.due[:last], c.who[:last]
	if last == 0 {
		return first
	}
	at := 0
	for {
		down := 2*at + 1
		if down >= last {
			break
		}
		if down+1 < last && c.due[down+1] < c.due[down] {
			down++
		}
		if c.due[down] >= due {
			break
		}
		c.due[at], c.who[at] = c.due[down], c.who[down]
		at = down
	}
	c.due[at], c.who[at] = due, who
	return first
}

// ring is a queue with a fixed room.
type ring[T any] struct {
	at         []T
	head, size int
}

func (r *ring[T]) reset(room int) {
	r.at, r.head, r.size = slices.Grow(r.at[:0], room)[:room], 0, 0
}

func (r *ring[T]) push(x T) {
	i := r.head + r.size
	if i >= len(r.at) {
		i -= len(r.at)
	}
	r.at[i] = x
	r.size++
}

func (r *ring[T]) pop() T {
	x := r.at[r.head]
	r.head++
	if r.head == len(r.at) {
		r.head = 0
	}
	r.size--
	return x
}
