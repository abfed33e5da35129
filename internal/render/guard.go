package render

import (
	"html/template"
	"reflect"
	"text/template/parse"
)

// drawn is what a picture is drawn with: coordinates, which only figures are made into.
type drawn string

// shown makes a string that a page shows safe: html/template escapes it for where it stands, and this sees to what
// hides text or moves it. What is no string stays as it is, and so does what the page itself has written.
func shown(x any) any {
	switch x.(type) {
	case template.HTML, template.CSS, drawn:
		return x
	}
	if v := reflect.ValueOf(x); v.Kind() == reflect.String {
		return string(safe(v.String()))
	}
	return x
}

// guarded has everything that templates print pass shown, so that none can be written that forgets it.
func guarded(t *template.Template) *template.Template {
	for _, one := range t.Templates() {
		if one.Tree != nil {
			guardNode(one.Tree.Root)
		}
	}
	return t
}

func guardNode(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				guardNode(child)
			}
		}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) == 0 {
			call := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos}
			call.Args = []parse.Node{parse.NewIdentifier("shown").SetPos(n.Pos)}
			n.Pipe.Cmds = append(n.Pipe.Cmds, call)
		}
	case *parse.IfNode:
		guardBranch(&n.BranchNode)
	case *parse.RangeNode:
		guardBranch(&n.BranchNode)
	case *parse.WithNode:
		guardBranch(&n.BranchNode)
	}
}

func guardBranch(b *parse.BranchNode) {
	guardNode(b.List)
	guardNode(b.ElseList)
}
