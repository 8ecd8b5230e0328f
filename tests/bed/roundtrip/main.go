// Reads TrainJobs, one per line, into Kubeflow Trainer's Go types and prints them again, as clients that write with PUT do.
// The argument is the release of Kubeflow Trainer whose types are used.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	older "kubeflow.test/trainer-2.2/v2/pkg/apis/trainer/v1alpha1"
	newer "kubeflow.test/trainer-2.3/v2/pkg/apis/trainer/v1alpha1"
)

var types = map[string]func() any{
	"2.2": func() any { return &older.TrainJob{} },
	"2.3": func() any { return &newer.TrainJob{} },
}

func main() {
	if len(os.Args) != 2 || types[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: roundtrip 2.2|2.3")
		os.Exit(2)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		object := types[os.Args[1]]()
		if err := json.Unmarshal(lines.Bytes(), object); err != nil {
			panic(err)
		}
		if err := out.Encode(object); err != nil {
			panic(err)
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
}
