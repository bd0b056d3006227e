// The beginning of `cumulusd`: it runs `CumulusServer`.
//
// A target of its own, so that tests can look into `CumulusServer`: a bundle of tests has room for
// the beginning of one program.
//
// Folder: the beginning of a program.

import CumulusServer

@main
enum Program {
    static func main() async { await runServer() }
}
