// Command pipetune says why a GPU starves during training, and what to change to which value.
package main

import (
	"os"

	"github.com/pipetune/pipetune/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.System()))
}
