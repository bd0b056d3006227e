// `cumulus cluster certificate`: a private authority, and certificates of nodes by it. The work is
// in `PrivateAuthority`.

import ArgumentParser
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct CertificateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificate",
        abstract:
            "Make a certificate for a node, and the authority that signs it if there is none.",
        discussion: help(
            "cumulus cluster certificate node1.example 10.0.0.1 --directory certificates",
            note: """
                Give node1.example.pem and node1.example.key to the node, authority.pem to every \
                node and client, and authority.key to nobody: whoever has it can pass for a node. \
                Run it again in time to renew a certificate; nodes take new files without a \
                restart.
                """
        )
    )

    @Argument(help: "Names and addresses by which the node is reached.") var names: [String]
    @Option(help: "Where the files are.") var directory = "certificates"
    @Option(help: "Days that the certificate is good for.") var days = 365
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !names.isEmpty else { throw ValidationError("Name the node.") }
        guard (1...3_650).contains(days) else {
            throw ValidationError("--days must be from 1 to 3650.")
        }
        for name in names where !PrivateAuthority.isName(name) {
            throw ValidationError("'\(name)' is neither a host name nor an address.")
        }
        guard names[0].lowercased() != "authority" else {
            throw ValidationError("The files of 'authority' are the authority's own.")
        }
    }

    func run() throws {
        let authority = try PrivateAuthority(directory)
        let files = try authority.issue(names, days: days, now: Date())
        try output.show(
            [
                "authority": .string(authority.file), "certificate": .string(files.certificate),
                "key": .string(files.key), "until": .string(files.until.formatted(.iso8601)),
            ],
            rows: [
                ["authority", authority.file], ["certificate", files.certificate],
                ["key", files.key], ["good until", files.until.formatted(.iso8601)],
            ]
        )
    }
}
