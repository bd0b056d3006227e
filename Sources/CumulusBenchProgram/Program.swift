// The beginning of `cumulus-bench`: it runs `CumulusBench`.
//
// A target of its own, so that tests can look into `CumulusBench`: a bundle of tests has room for
// the beginning of one program.
//
// Folder: the beginning of a program.

import CumulusBench

@main
enum Program {
    static func main() async { await runBench() }
}
