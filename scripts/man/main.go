// Command man writes pipetune's manual pages, one for each command, from the same texts as its --help: man FOLDER.
package main

import (
	"log"
	"os"

	"github.com/spf13/cobra/doc"

	"github.com/pipetune/pipetune/internal/cli"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("man: ")
	if len(os.Args) != 2 {
		log.Fatal("give the folder to write to")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// write makes the folder and the pages. Their date is that of SOURCE_DATE_EPOCH, so that the same source gives the same
// pages.
func write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root := cli.Tree()
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{Title: "PIPETUNE", Section: "1", Source: "pipetune",
		Manual: "User Commands"}, folder)
}
