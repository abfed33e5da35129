package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/exporter"
	"github.com/pipetune/pipetune/internal/otlp"
)

// sender sends what a watch sees to a collector, again and again. A nil one sends nothing.
type sender struct {
	target  *otlp.Target
	from    *exporter.Exporter
	began   time.Time
	stop    context.CancelFunc
	ended   chan struct{}
	refused chan string // why an export failed, until it was said
	said    bool
}

// openSender begins to send where the environment asks for it. What it asks for may be meant for the job: where that
// cannot be done it is said, and the watch goes on.
func openSender(env Env, from *exporter.Exporter) *sender {
	target, err := otlp.FromEnvironment(env.Getenv)
	if err != nil {
		note(env.Stderr, "no metrics are sent to a collector: "+err.Error()+
			"; OTEL_METRICS_EXPORTER=none says that none are to be")
	}
	if target == nil {
		return nil
	}
	note(env.Stderr, fmt.Sprintf("metrics are sent to %s every %s, as %s asks", target.Endpoint.Redacted(),
		target.Interval, target.Asked))
	ctx, cancel := context.WithCancel(context.Background())
	s := &sender{target: target, from: from, began: time.Now(), stop: cancel, ended: make(chan struct{}),
		refused: make(chan string, 1)}
	go s.run(ctx)
	return s
}

// run sends until it is stopped, and then once more: what the watch came to.
func (s *sender) run(ctx context.Context) {
	defer close(s.ended)
	every := time.NewTicker(s.target.Interval)
	defer every.Stop()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-every.C:
		}
		if err := s.send(ctx, over); err != nil && (over || ctx.Err() == nil) {
			select {
			case s.refused <- fmt.Sprintf("metrics were not sent to %s: %v", s.target.Endpoint.Redacted(), err):
			default: // it was said already, or will be
			}
		}
	}
}

// send makes one export. The last one may take no longer than the end waits for a scrape.
func (s *sender) send(ctx context.Context, last bool) error {
	if last {
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
		defer cancel()
		ctx = patient
	}
	body, err := s.from.OTLP(s.target.Resource, s.began, time.Now())
	if err != nil {
		return err
	}
	return s.target.Post(ctx, body)
}

// complain says once that exports fail, from the goroutine that may write.
func (s *sender) complain(env Env) {
	if s == nil || s.said {
		return
	}
	select {
	case why := <-s.refused:
		note(env.Stderr, why+"; they are sent on, and this is not said again")
		s.said = true
	default:
	}
}

// close sends what the watch came to; an export under way is given up. A job that has ended is not held by a collector.
func (s *sender) close(env Env) {
	if s == nil {
		return
	}
	s.stop()
	<-s.ended
	s.complain(env)
}
