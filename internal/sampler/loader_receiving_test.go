package sampler

import (
	"testing"
	"time"
)

// TestReceivingBetweenWaits: a short-lived socket at a known number marks running as receiving, a lasting one does not.
func TestReceivingBetweenWaits(t *testing.T) {
	open := map[int]string{}
	target := func(fd int) ([]byte, bool) {
		s, ok := open[fd]
		return []byte(s), ok
	}
	var r receiving
	at := time.Second
	r.waitedOn(17, at)
	open[17] = "socket:[1]"
	if !r.now(target, at+time.Millisecond) {
		t.Error("a socket just opened is not seen")
	}
	if r.now(target, at+2*passing) {
		t.Error("a socket that lasts marks receiving")
	}
	open[17] = "socket:[2]"
	if !r.now(target, at+2*passing+time.Millisecond) {
		t.Error("the next socket is not seen")
	}
	open[17] = "/dev/shm/torch_1_2_3 (deleted)"
	if r.now(target, at+3*passing) {
		t.Error("a tensor marks receiving")
	}
	delete(open, 17)
	open[18] = "socket:[3]"
	if r.now(target, at+3*passing) {
		t.Error("a socket never waited on marks receiving")
	}
	open[17] = "socket:[4]"
	if r.now(target, at+receivingMemory+time.Second) {
		t.Error("a number is remembered for ever")
	}
	r.waitedOn(14, at+2*receivingMemory)
	r.waitedOn(19, at+2*receivingMemory)
	open[16] = "socket:[5]"
	if !r.now(target, at+2*receivingMemory) {
		t.Error("a socket between two numbers waited on is not seen")
	}
}
