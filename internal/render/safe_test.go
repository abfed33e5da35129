package render

import "testing"

func TestMarkdownMakesNoReferences(t *testing.T) {
	for in, want := range map[string]string{
		"@team #1 GH-1":   "&#64;&#8203;team &#35;&#8203;1 GH-&#8203;1",
		"owner/repo#12":   "owner/repo&#35;&#8203;12",
		"a @ b":           "a &#64; b",
		"exp-2024":        "exp&#45;2024",
		"# no  heading":   "&#35; no heading",
		"x\u200b@\u200by": `x&#92;u200b&#64;&#92;u200by`, // what was there is shown, as everything invisible
	} {
		if got := string(md(in)); got != want {
			t.Errorf("md(%q) = %q, want %q", in, got, want)
		}
	}
	if got := fence("sh", "pip install a@1 #x", "a\nb"); got != "```sh\npip install a@1 #x\na\\nb\n```\n" {
		t.Errorf("commands to copy: %q", got)
	}
}
