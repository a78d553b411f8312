// Command kernels boots other kernels than this machine's, with other bubblewraps,
// and holds what obspc does there to the table in table_linux.go. As the first
// process of a virtual machine it is the guest, which makes the machine ready, runs
// the cases of its boot and reports; otherwise it is the host. Its one rule: a case
// that was not reported has failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

func main() {
	if os.Getpid() == 1 {
		first()
	}
	if len(os.Args) == 2 && os.Args[1] == guestWord {
		guest()
		return
	}
	h := host{}
	flag.StringVar(&h.dir, "dir", "", "the `directory` that scripts/kernels has filled")
	flag.StringVar(&h.only, "only", "", "boot `NAME` alone")
	flag.IntVar(&h.jobs, "jobs", 2, "`number` of machines at once")
	flag.BoolVar(&h.verbose, "v", false, "show each report")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	err := h.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(1)
	}
}
