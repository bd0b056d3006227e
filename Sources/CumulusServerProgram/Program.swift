// The beginning of `cumulusd`: it runs `CumulusServer`.
//
// A target of its own, so that tests can look into `CumulusServer`: a bundle of tests holds the beginning
// of one program at most.
//
// Folder: the beginning of a program.

import CumulusServer

@main
enum Program {
    static func main() async { await runServer() }
}
