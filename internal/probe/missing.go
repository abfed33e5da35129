package probe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// missingParts gathers the parts of a probe that gave no figure by reason: one broken file fails them all alike.
type missingParts []missingPart

type missingPart struct {
	reason string
	parts  []string
}

type wayError struct {
	what string
	err  error
}

func (e wayError) Error() string { return fmt.Sprintf("%s: %v", e.what, e.err) }

func (e wayError) Unwrap() error { return e.err }

// add takes a part and why it failed. Which of its ways of reading failed does not make the reason another one.
func (m *missingParts) add(part string, err error) {
	if way := (wayError{}); errors.As(err, &way) {
		err = way.err
	}
	reason := err.Error()
	i := slices.IndexFunc(*m, func(p missingPart) bool { return p.reason == reason })
	if i < 0 {
		i = len(*m)
		*m = append(*m, missingPart{reason: reason})
	}
	(*m)[i].parts = append((*m)[i].parts, part)
}

// say puts one abstention for each reason into the result.
func (m *missingParts) say(s *session, probe string) {
	for _, p := range *m {
		s.abstain(probe, strings.Join(p.parts, "; ")+": "+p.reason, "")
	}
}
