package batches

import "testing"

// TestOneSizeReadAmiss: the first size of a worker that is known is another tensor's, as was seen beside workers that
// restart (PyTorch 1.13): 4, 8, 10, 14, 20 and 26 tensors a batch were told of 2.
func TestOneSizeReadAmiss(t *testing.T) {
	var ledgers []*tensorLedger
	for _, amiss := range []int64{1, 0} {
		l := &tensorLedger{}
		for n := int64(0); n < 50; n++ {
			if n%10 < 6 { // as they are sighted
				l.setSize(n, []int64{65536, 512}[n%2])
			}
		}
		l.setSize(amiss, []int64{512, 65536}[amiss])
		ledgers = append(ledgers, l)
	}
	if step := repeatingSizes(ledgers); step != 2 {
		t.Errorf("sizes repeat with %d, want 2", step)
	}
	few := &tensorLedger{}
	for n := int64(0); n < 14; n++ {
		few.setSize(n, []int64{65536, 512}[n%2])
	}
	few.setSize(3, 65536)
	if step := repeatingSizes([]*tensorLedger{few}); step != 2 {
		t.Errorf("of few sizes they repeat with %d, want 2", step)
	}
}
