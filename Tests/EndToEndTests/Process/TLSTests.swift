// Encrypted connections between real processes: who is believed, who isn't, and certificates that
// are renewed while the node runs.

import Cumulus
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct TLSTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    /// Makes a certificate as the command line does.
    private func makeCertificate(_ names: [String], in directory: String) async throws {
        let run = try await CommandLineRun(
            ["cluster", "certificate"] + names + ["--directory", path(directory), "--json"],
            variables: [:]
        )
        #expect(run.code == 0, "\(run.errors)")
    }

    /// The flags of a node that shows a certificate and believes an authority.
    private func flags(_ directory: String, _ name: String = "127.0.0.1") -> [String] {
        [
            "--tls-certificate", path("\(directory)/\(name).pem"),
            "--tls-key", path("\(directory)/\(name).key"),
            "--tls-authority", path("\(directory)/authority.pem"),
        ]
    }

    private func run(
        _ words: [String],
        program: String = "cumulus",
        at node: NodeProcess,
        authority: String?,
        more: [String: String] = [:]
    ) async throws -> CommandLineRun {
        var variables = more
        variables["CUMULUS_ENDPOINT"] = try node.endpoint
        variables["CUMULUS_OPERATOR_TOKEN_FILE"] = node.operatorTokenFile
        variables["CUMULUS_AUTHORITY"] = authority.map { path("\($0)/authority.pem") }
        return try await CommandLineRun(
            words + ["--timeout", "5"],
            program: program,
            variables: variables
        )
    }

    @Test func aClientBelievesItsAuthorityOnly() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        try await makeCertificate(["127.0.0.1"], in: "theirs")
        let node = try await NodeProcess.ready(data: folder.node, arguments: flags("ours"))

        let right = try await run(["status"], at: node, authority: "ours")
        #expect(right.code == 0, "\(right.errors)")
        let wrong = try await run(["status"], at: node, authority: "theirs")
        #expect(wrong.code == 69)
        #expect(wrong.errors.contains("not by an authority that is trusted"), "\(wrong.errors)")
        // The system's authorities don't know ours.
        let strange = try await run(
            ["status"],
            at: node,
            authority: nil,
            more: ["CUMULUS_TLS": "always"]
        )
        #expect(strange.code == 69, "\(strange.errors)")
        let plain = try await run(["status"], at: node, authority: nil)
        #expect(plain.code == 69, "\(plain.errors)")
        let missing = try await run(["status"], at: node, authority: "nowhere")
        #expect(missing.code == 69)
        #expect(missing.errors.contains("authority.pem"), "\(missing.errors)")
        let ending = try await node.end(SIGTERM)
        #expect(ending == .exit(0), "\(ending) \(node.errors.suffix(3_000))")
    }

    /// The bench reaches a node as other commands do, and ends as they do where it can't.
    ///
    /// Takes ten seconds: twice the time of a call passes without an answer.
    @Test func theBenchBelievesItsAuthorityOnly() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        try await makeCertificate(["127.0.0.1"], in: "theirs")
        let node = try await NodeProcess.ready(data: folder.node, arguments: flags("ours"))
        let added = try await run(["user", "add", "ada"], at: node, authority: "ours")
        #expect(added.code == 0, "\(added.errors)")
        let token = try await run(["user", "token", "ada"], at: node, authority: "ours").output
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let endpoint = try node.endpoint
        func bench(_ words: [String], authority: String?) async throws -> CommandLineRun {
            try await run(
                words + ["--endpoint", endpoint],
                program: "cumulus-bench",
                at: node,
                authority: authority,
                more: ["CUMULUS_TOKEN": token]
            )
        }
        let short = ["--records", "1000", "--seconds", "0.1"]
        let right = try await bench(["save"] + short, authority: "ours")
        #expect(right.code == 0, "\(right.errors)")
        let flag = ["--authority", path("ours/authority.pem")]
        let idle = try await bench(["idle", "--idle-connections", "5"] + flag, authority: nil)
        #expect(idle.code == 0, "\(idle.errors)")
        for path in ["save", "idle"] {
            let wrong = try await bench([path], authority: "theirs")
            #expect(wrong.code == 69)
            #expect(wrong.errors.contains("not by an authority that is trusted"))
        }
        let plain = try await bench(["save"], authority: nil)
        #expect(plain.code == 69, "\(plain.errors)")
        let ending = try await node.end(SIGTERM)
        #expect(ending == .exit(0), "\(ending) \(node.errors.suffix(3_000))")
        let gone = try await bench(["save"] + flag, authority: nil)
        #expect(gone.code == 69)
        #expect(gone.errors.contains("cannot reach"), "\(gone.errors)")
    }

    @Test func aCertificateIsForItsNamesOnly() async throws {
        try await makeCertificate(["127.0.0.2", "elsewhere.example"], in: "ours")
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: flags("ours", "127.0.0.2")
        )
        let run = try await run(["status"], at: node, authority: "ours")
        #expect(run.code == 69)
        #expect(run.errors.contains("the certificate of"), "\(run.errors)")
    }

    /// Peers call a node at its own address: it says so if they can't believe it there.
    @Test func aNodeThatNoPeerBelievesSaysSo() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        try await makeCertificate(["127.0.0.1"], in: "theirs")
        let certificate = Array(flags("theirs").prefix(4))
        let authority = Array(flags("ours").suffix(2))
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: certificate + authority
        )
        #expect(try await eventually { node.errors.contains("no other node reads from this one") })
        let status = try await run(["cluster", "status", "--json"], at: node, authority: "theirs")
        #expect(status.code == 0, "\(status.errors)")
        #expect(status.output.contains("not by an authority that is trusted"), "\(status.output)")
    }

    /// A bare system has no /etc/hosts, and then no name for itself.
    private static var knowsLocalhost: Bool {
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo("localhost", nil, nil, &found) == 0 else { return false }
        freeaddrinfo(found)
        return true
    }

    /// A name is held to the names of the certificate: names can be made to lead to addresses.
    @Test(.enabled(if: TLSTests.knowsLocalhost, "'localhost' is not known here"))
    func aNameIsNotShownByAnAddress() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        try await makeCertificate(["localhost"], in: "named")
        for (directory, file, isRight) in [
            ("ours", "127.0.0.1", false), ("named", "localhost", true),
        ] {
            let node = try await NodeProcess.ready(
                data: path(directory + "-data"),
                arguments: flags(directory, file)
            )
            let run = try await CommandLineRun(
                ["status", "--endpoint", "localhost:\(try node.port)", "--timeout", "5"],
                variables: [
                    "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
                    "CUMULUS_AUTHORITY": path("\(directory)/authority.pem"),
                ]
            )
            #expect(run.code == (isRight ? 0 : 69), "\(run.errors)")
            let ending = try await node.end(SIGTERM)
            #expect(ending == .exit(0), "\(ending) \(node.errors.suffix(3_000))")
        }
    }

    /// A port that takes connections and says nothing: the handshake may take ten seconds, the
    /// command's time is up before.
    @Test func aSilentListenerIsGivenUpInTime() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 8) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        #expect(isListening)
        let start = ContinuousClock.now
        let run = try await CommandLineRun(
            ["record", "get", "r", "--timeout", "1"],
            variables: [
                "CUMULUS_ENDPOINT": "127.0.0.1:\(UInt16(bigEndian: address.sin_port))",
                "CUMULUS_AUTHORITY": path("ours/authority.pem"),
            ]
        )
        #expect(run.code == 69, "\(run.errors)")
        #expect(ContinuousClock.now - start < .seconds(8))
    }

    @Test func theAuthoritysFilesAreItsOwn() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        let before = try String(contentsOfFile: path("ours/authority.key"), encoding: .utf8)
        for name in ["authority", "Authority", "no name", "-x"] {
            let run = try await CommandLineRun(
                ["cluster", "certificate", name, "--directory", path("ours")]
            )
            #expect(run.code == 64, "\(name): \(run.errors)")
        }
        let after = try String(contentsOfFile: path("ours/authority.key"), encoding: .utf8)
        #expect(before == after)
        for file in ["ours/authority.key", "ours/127.0.0.1.key"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path(file))
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        }
    }

    /// Clients would not trust a certificate that is signed with another key than the authority's.
    @Test func nothingIsSignedForAnotherAuthority() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        try await makeCertificate(["127.0.0.1"], in: "theirs")
        let foreign = try Data(contentsOf: URL(filePath: path("theirs/authority.pem")))
        try foreign.write(to: URL(filePath: path("ours/authority.pem")))
        func files() throws -> [String: Data] {
            let names = try FileManager.default.contentsOfDirectory(atPath: path("ours"))
            return try Dictionary(
                uniqueKeysWithValues: names.map {
                    ($0, try Data(contentsOf: URL(filePath: path("ours/\($0)"))))
                }
            )
        }
        for words in ["is not the key of", "without authority.key"] {
            let before = try files()
            let run = try await CommandLineRun(
                ["cluster", "certificate", "127.0.0.1", "--directory", path("ours")]
            )
            #expect(run.code == 65, "\(run.errors)")
            #expect(run.errors.contains(words), "\(run.errors)")
            #expect(run.errors.contains("--directory"), "\(run.errors)")
            #expect(try files() == before)
            try? FileManager.default.removeItem(atPath: path("ours/authority.key"))
        }
    }

    /// A client that believes an authority doesn't talk to a node without a certificate.
    @Test func nothingIsSaidToANodeWithoutTLS() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        let node = try await NodeProcess.ready(data: folder.node)
        let run = try await run(["status"], at: node, authority: "ours")
        #expect(run.code == 69)
        #expect(run.errors.contains("TLS"), "\(run.errors)")
        let ending = try await node.end(SIGTERM)
        #expect(ending == .exit(0), "\(ending) \(node.errors.suffix(3_000))")
    }

    @Test func renewedCertificatesCountAtOnce() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        try await makeCertificate(["127.0.0.1"], in: "new")
        let node = try await NodeProcess.ready(data: folder.node, arguments: flags("ours"))
        #expect(try await run(["status"], at: node, authority: "ours").code == 0)
        for file in ["127.0.0.1.key", "127.0.0.1.pem"] {
            #expect(rename(path("new/\(file)"), path("ours/\(file)")) == 0)
        }
        #expect(try await run(["status"], at: node, authority: "new").code == 0)
        #expect(try await run(["status"], at: node, authority: "ours").code == 69)
        // What can't be used is not.
        try Data("nonsense".utf8).write(to: URL(filePath: path("ours/127.0.0.1.pem")))
        #expect(try await run(["status"], at: node, authority: "new").code == 0)
        let ending = try await node.end(SIGTERM)
        #expect(ending == .exit(0), "\(ending) \(node.errors.suffix(3_000))")
        #expect(node.errors.contains("a renewed certificate is in use"))
        #expect(node.errors.contains("a renewed certificate can't be used"))
    }

    @Test func nodesReplicateOverTLS() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        try await makeCertificate(["127.0.0.1"], in: "theirs")
        let first = try await NodeProcess.ready(data: path("first"), arguments: flags("ours"))
        let key = ["--cluster-key", path("first/cluster.key")]
        let peer = ["--peers", try first.endpoint]
        let second = try await NodeProcess.ready(
            data: path("second"),
            arguments: flags("ours") + key + peer
        )
        // Holds the key, but believes somebody else.
        let third = try NodeProcess(data: path("third"), arguments: flags("theirs") + key + peer)
        let added = try await run(["user", "add", "ada"], at: first, authority: "ours")
        #expect(added.code == 0, "\(added.errors)")
        while try await !run(["user", "list"], at: second, authority: "ours").output
            .contains("ada")
        {}
        try await third.wait(for: "listens")
        let users = try await run(["user", "list"], at: third, authority: "theirs")
        #expect(users.code == 1)
        let unreached = try first.endpoint
        #expect(users.errors.contains(unreached), "\(users.errors)")
        #expect(!third.isReady)
        for node in [third, second, first] {
            let ending = try await node.end(SIGTERM)
            #expect(ending == .exit(0), "\(ending) \(node.errors.suffix(3_000))")
        }
    }

    /// The settings that are made name what the new node needs to speak with that member.
    @Test func aNodeJoinsOverTLSWithTheSettingsThatWereMade() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        let first = try await NodeProcess.ready(data: path("first"), arguments: flags("ours"))
        let words = [
            "cluster", "join", path("second.json"), "--cluster-key", path("first/cluster.key"),
            "--data", path("second"), "--listen", "127.0.0.1:0",
        ]
        let made = try await run(words, at: first, authority: "ours")
        #expect(made.code == 0, "\(made.errors)")
        #expect(!made.output.contains("cluster certificate"), "\(made.output)")
        let second = try await NodeProcess.ready(
            data: path("second"),
            arguments: ["--config", path("second.json")]
        )
        while try await !run(["cluster", "status"], at: first, authority: "ours").output
            .contains(" connected")
        {}
        // Other files, on the new node's machine.
        let others = ["--tls-certificate", path("node.pem"), "--tls-key", path("node.key")]
        let third = words.map { $0 == path("second.json") ? path("third.json") : $0 }
        let named = try await run(third + others, at: first, authority: "ours")
        #expect(named.output.contains("node.pem"), "\(named.output) \(named.errors)")
        let settings = try String(contentsOfFile: path("third.json"), encoding: .utf8)
        #expect(settings.contains("node.key"), "\(settings)")
        #expect(settings.contains("authority.pem"), "\(settings)")
        let half = try await run(third + others.prefix(2), at: first, authority: "ours")
        #expect(half.code == 64, "\(half.errors)")
        for node in [second, first] { #expect(try await node.end(SIGTERM) == .exit(0)) }
    }

    @Test func aNodeSaysWhatIsWrongWithItsCertificate() async throws {
        try await makeCertificate(["127.0.0.1"], in: "ours")
        try await makeCertificate(["127.0.0.1"], in: "theirs")
        let (certificate, key) = (path("ours/127.0.0.1.pem"), path("ours/127.0.0.1.key"))
        let nonsense = path("ours/nonsense.key")
        _ = FileManager.default.createFile(
            atPath: nonsense,
            contents: Data("nonsense".utf8),
            attributes: [.posixPermissions: 0o600]
        )
        func flags(_ certificate: String, _ key: String) -> [String] {
            ["--tls-certificate", certificate, "--tls-key", key]
        }
        let cases: [([String], String)] = [
            (["--tls-certificate", certificate], "belong together"),
            (["--tls-authority", path("nowhere.pem")], "tls-authority"),
            (flags(path("nowhere.pem"), key), "does not exist"),
            (flags(nonsense, key), "holds no certificate"),
            (flags(certificate, nonsense), "holds no private key"),
            (flags(certificate, path("theirs/127.0.0.1.key")), "is not the key of"),
        ]
        for (arguments, words) in cases {
            let node = try NodeProcess(data: folder.node, arguments: arguments)
            #expect(try await node.waitForEnd() == .exit(1))
            #expect(node.errors.contains("tls-"), "\(node.errors)")
            #expect(node.errors.contains(words), "\(node.errors)")
            #expect(!node.output.contains("ready"))
        }
    }
}
