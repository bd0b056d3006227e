// The beginning of `cumulus`: it runs `CumulusCLI`.
//
// A target of its own, so that tests can look into `CumulusCLI`: a bundle of tests has room for
// the beginning of one program.
//
// Folder: the beginning of a program.

import CumulusCLI

@main
enum Program {
    static func main() async { await runCommandLine() }
}
