// `cumulus user password`, `sign-in`, `user disable` and `session` between two nodes: who signs in
// at one node is let in at the other, until an operator says otherwise. And how a password is asked
// for on a terminal.

import Cumulus
import CumulusTesting
import Foundation
import Testing

/// Each start of a node and each check of a password takes a moment: about 10 s in all.
@Suite(.timeLimit(.minutes(3))) struct AccountCommandTests {
    private let folder: TestFolder
    private let key: String
    private static let save = [
        "record", "save", "Note", "note", "--field", "text=hello", "--force",
    ]
    private static let refused = "notAuthenticated"

    init() throws {
        folder = try TestFolder()
        key = "\(folder.path)/key"
        let hex = String(repeating: "5a", count: 32)
        try Data(hex.utf8).write(to: URL(filePath: key))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    }

    private func start(
        _ name: String,
        beside peer: NodeProcess? = nil
    ) async throws -> NodeProcess {
        var arguments = ["--cluster-key", key]
        if let peer { arguments += ["--peers", try peer.endpoint] }
        return try await NodeProcess.ready(data: "\(folder.path)/\(name)", arguments: arguments)
    }

    /// What a command needs to know to ask a node as its operator.
    private func asOperator(_ node: NodeProcess) throws -> [String: String] {
        [
            "CUMULUS_ENDPOINT": try node.endpoint,
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
    }

    private func asUser(_ token: String, at node: NodeProcess) throws -> [String: String] {
        ["CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": token]
    }

    /// What a command prints; with `typing` it finds that on its standard input.
    @discardableResult
    private func run(
        _ words: [String],
        _ variables: [String: String],
        typing text: String? = nil,
        fails reason: String? = nil
    ) async throws -> String {
        let file = "\(folder.path)/input"
        try Data((text ?? "").utf8).write(to: URL(filePath: file))
        let input = try FileHandle(forReadingFrom: URL(filePath: file))
        let run = try await CommandLineRun(
            words,
            variables: variables,
            input: input.fileDescriptor
        )
        try input.close()
        if let reason {
            #expect(run.code == 1 && run.errors.contains(reason), "\(words): \(run.errors)")
        } else {
            #expect(run.code == 0, "\(words): \(run.errors)")
        }
        return run.output
    }

    /// Waits until a node has heard all that was told to the other one so far.
    ///
    /// Users are changed in one order, in which it is told: who knows the last one knows all.
    private func waitForArrival(
        of marker: String,
        from one: NodeProcess,
        at other: NodeProcess
    ) async throws {
        let admin = NodeOperator(endpoint: try one.endpoint, token: try one.operatorToken)
        _ = try await admin.addUser(marker, in: nil)
        await admin.close()
        let reader = NodeOperator(endpoint: try other.endpoint, token: try other.operatorToken)
        let isThere = try await eventually(seconds: 20) {
            try await reader.users(in: nil).contains { $0.name == marker }
        }
        await reader.close()
        #expect(isThere)
    }

    @Test func anOperatorAtOneNodeRulesWhoSignsInAtAnother() async throws {
        let first = try await start("a")
        let second = try await start("b", beside: first)
        let admin = try asOperator(first)
        try await run(["user", "add", "ada"], admin)
        try await run(["user", "password", "eve"], admin, typing: "correct horse", fails: "eve")
        try await run(["user", "password", "ada"], admin, typing: "correct horse\n")

        // A password at the first node gives a token for the second one.
        let signIn = ["sign-in", "ada", "--label", "laptop"]
        try await run(signIn, admin, typing: "wrong horse", fails: Self.refused)
        let printed = try await run(signIn, admin, typing: "correct horse\n")
        let token = printed.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(printed == token + "\n" && token.hasPrefix("cumulus_"))
        let ada = try asUser(token, at: second)
        try await waitForArrival(of: "one", from: first, at: second)
        try await run(Self.save, ada)

        // Disabled: calls are refused from the moment of arrival on, streams end within a second.
        let stream = try ChildProcess(
            [
                try ChildProcess.builtProgram("cumulus"), "changes", "records", "_defaultZone",
                "--follow", "--json",
            ],
            variables: ada,
            output: "\(folder.path)/stream.out",
            errors: "\(folder.path)/stream.err"
        )
        let isFollowing = try await eventually(seconds: 20) {
            try String(contentsOfFile: "\(folder.path)/stream.out", encoding: .utf8)
                .contains("upToDate")
        }
        #expect(isFollowing)
        #expect(try await run(["user", "disable", "ada"], admin).contains("disabled"))
        try await waitForArrival(of: "two", from: first, at: second)
        #expect(try await stream.waitForEnd(seconds: 1) == .exit(1))
        let told = try String(contentsOfFile: "\(folder.path)/stream.err", encoding: .utf8)
        #expect(told.contains(Self.refused))
        try await run(Self.save, ada, fails: Self.refused)
        try await run(signIn, admin, typing: "correct horse\n", fails: Self.refused)
        let users = try await run(["user", "list", "--json"], admin)
        #expect(users.contains("\"disabled\": true"))
        let warned = try await CommandLineRun(["user", "token", "ada"], variables: admin)
        #expect(warned.code == 0 && warned.output.hasPrefix("cumulus_"))
        #expect(warned.errors.contains("cumulus user enable ada"))

        #expect(try await run(["user", "enable", "ada"], admin).contains("enabled"))
        let again = try await run(["user", "enable", "ada", "--json"], admin)
        #expect(again.contains("\"changed\": false"))
        try await waitForArrival(of: "three", from: first, at: second)
        try await run(Self.save, ada)

        // Another password: the session ends with the old one.
        try await run(["user", "password", "ada"], admin, typing: "battery staple\n")
        try await waitForArrival(of: "four", from: first, at: second)
        try await run(Self.save, ada, fails: Self.refused)
        try await run(signIn, admin, typing: "correct horse\n", fails: Self.refused)
        let (passwordFile, tokenFile) = ("\(folder.path)/password", "\(folder.path)/token")
        try Data("battery staple\n".utf8).write(to: URL(filePath: passwordFile))
        // A token that has ended is no hindrance to who wants a new one.
        let shown = try await run(
            signIn + ["--password-file", passwordFile, "--output", tokenFile],
            try asUser(token, at: first)
        )
        let kept = try String(contentsOfFile: tokenFile, encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(kept.hasPrefix("cumulus_") && kept != token && !shown.contains(kept))
        let attributes = try FileManager.default.attributesOfItem(atPath: tokenFile)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        try await run(Self.save, try asUser(kept, at: first))
    }

    /// Apps find their server and their user in the file that a login writes.
    @Test func aLoginWritesWhatAppsRead() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let admin = try asOperator(node)
        try await run(["user", "add", "ada"], admin)
        try await run(["user", "password", "ada"], admin, typing: "correct horse")
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "XDG_CONFIG_HOME": "\(folder.path)/config",
        ]
        let file = "\(folder.path)/config/cumulus/client.json"
        let login = ["login", "ada", "--container", "iCloud.dev.cumulus", "--json"]
        try await run(login, variables, typing: "wrong", fails: Self.refused)
        #expect(!FileManager.default.fileExists(atPath: file))
        let shown = try await run(login, variables, typing: "correct horse\n")
        #expect(shown.contains("\"user\": \"ada\"") && !shown.contains("cumulus_"))

        func settings() throws -> [String: String] {
            let data = try Data(contentsOf: URL(filePath: file))
            return try JSONDecoder().decode([String: String].self, from: data)
        }
        let written = try settings()
        let token = try #require(written["token"])
        #expect(written["endpoint"] == (try node.endpoint))
        #expect(written["container"] == "iCloud.dev.cumulus")
        #expect(written["environment"] == "development" && written["tls"] == nil)
        try await run(Self.save, try asUser(token, at: node))
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)

        // A token that lets nobody in changes nothing.
        let again = ["login", "--token-file", "-"]
        let wrong = "cumulus_" + String(repeating: "0", count: 64)
        try await run(again, variables, typing: wrong, fails: Self.refused)
        #expect(try settings() == written)
        // The profile has that token already, and so the name of its user.
        let same = try await run(again, variables, typing: token + "\n")
        #expect(same.contains(/user +ada\n/), "\(same)")
        #expect(try await run(["use", "default"], variables).contains(/user +ada/))
        #expect(try settings()["token"] == token)

        #expect(try await run(["logout"], variables).contains("removed"))
        #expect(try await run(["logout", "--json"], variables).contains("\"existed\": false"))

        // The session went on until now.
        try await run(again, variables, typing: token + "\n")
        let ended = try await run(["logout", "--revoke", "--json"], variables)
        #expect(ended.contains("\"existed\": true") && ended.contains("\"revoked\": true"))
        try await run(Self.save, try asUser(token, at: node), fails: Self.refused)
    }

    /// A person makes its user itself, and needs no operator for another password.
    @Test func aPersonRegistersAndChangesItsPassword() async throws {
        let node = try await NodeProcess.ready(data: folder.node, arguments: ["--registration"])
        let nobody = ["CUMULUS_ENDPOINT": try node.endpoint]
        let register = ["register", "eve", "--label", "laptop"]
        let printed = try await run(register, nobody, typing: "correct horse\n")
        let first = printed.trimmingCharacters(in: .whitespacesAndNewlines)
        try await run(Self.save, try asUser(first, at: node))
        try await run(register, nobody, typing: "correct horse\n", fails: "taken")

        let change = ["password", "--json"]
        try await run(change, nobody, typing: "a\nb", fails: "cumulus sign-in NAME")
        let eve = try asUser(first, at: node)
        try await run(change, eve, typing: "wrong horse\nbattery staple", fails: Self.refused)
        let changed = try await run(change, eve, typing: "correct horse\nbattery staple\n")
        guard case .string(let second)? = try JSONReader.read(changed.utf8)["token"] else {
            throw ChildProcess.Failure("no token: \(changed)")
        }
        try await run(Self.save, eve, fails: Self.refused)
        try await run(Self.save, try asUser(second, at: node))
        try await run(["sign-in", "eve"], nobody, typing: "battery staple")
    }

    @Test func whoIsNotSignedInIsToldHow() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let nobody = ["CUMULUS_ENDPOINT": try node.endpoint]
        for words in [
            ["zone", "list"], ["share", "list"], ["share", "show", "Trips"],
            ["share", "accept", "cumulus:/share/AAAAAAAAAAAAAAAAAAAAAA"], ["session", "list"],
        ] {
            #expect(try await run(words, nobody, fails: Self.refused).isEmpty)
            #expect(try await run(words, nobody, fails: "'cumulus sign-in NAME'").isEmpty)
        }
        let zones = try await run(["zone", "list", "--database", "public"], nobody)
        #expect(zones.contains("_defaultZone"))
        try await run(["register", "eve"], nobody, typing: "correct horse", fails: "an operator")
    }

    @Test func sessionsAreListedAndEnded() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let admin = try asOperator(node)
        try await run(["user", "add", "ada"], admin)
        try await run(["user", "password", "ada"], admin, typing: "correct horse")
        var users: [[String: String]] = []
        for label in ["phone", "laptop"] {
            let signIn = ["sign-in", "ada", "--label", label, "--json"]
            let answer = try await run(signIn, admin, typing: "correct horse")
            guard case .string(let token)? = try JSONReader.read(answer.utf8)["token"] else {
                throw ChildProcess.Failure("no token: \(answer)")
            }
            users.append(try asUser(token, at: node))
        }
        let listed = try await run(["session", "list", "--json"], users[0])
        guard case .array(let sessions) = try JSONReader.read(listed.utf8) else {
            throw ChildProcess.Failure("no list: \(listed)")
        }
        #expect(sessions.map { $0["label"] } == [.string("phone"), .string("laptop")])
        #expect(sessions.map { $0["isThis"] } == [.bool(true), .bool(false)])
        guard case .string(let id)? = sessions.last?["id"] else {
            throw ChildProcess.Failure("no id: \(listed)")
        }
        let table = try await run(["session", "list", "--user", "ada"], admin)
        #expect(table.contains("laptop") && table.contains(id))

        try await run(["session", "revoke", id], users[0])
        try await run(Self.save, users[1], fails: Self.refused)
        let twice = try await run(["session", "revoke", id, "--json"], users[0])
        #expect(twice.contains("\"existed\": false"))
        try await run(["session", "revoke", "5f"], users[0], fails: "list the sessions")
        try await run(Self.save, users[0])
        try await run(["session", "revoke", "--all", "--user", "ada"], admin)
        try await run(Self.save, users[0], fails: Self.refused)
    }

    /// A terminal does not show typed passwords, and a new one is asked for twice.
    @Test func aTerminalDoesNotShowThePassword() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let admin = try asOperator(node)
        try await run(["user", "add", "ada"], admin)
        let terminal = try Terminal()
        let input = terminal.descriptor
        async let setting = CommandLineRun(
            ["user", "password", "ada"],
            variables: admin,
            input: input
        )
        try #require(try await eventually(seconds: 20) { try !terminal.echoes })
        try terminal.enter("correct horse\ncorrect horse\n")
        let set = try await setting
        #expect(set.code == 0, "\(set.errors)")
        #expect(set.errors.contains("New password of ada: "))
        #expect(try terminal.echoes)
        #expect(try !terminal.shown.contains("horse"))
        try await run(["sign-in", "ada"], admin, typing: "correct horse")
    }
}

/// A terminal that nobody sits at.
private final class Terminal {
    /// What a program has as its standard input.
    let descriptor: Int32
    private let keyboard: Int32

    init() throws {
        var (keyboard, screen) = (Int32(-1), Int32(-1))
        guard openpty(&keyboard, &screen, nil, nil, nil) == 0 else {
            throw ChildProcess.Failure("there is no terminal: errno \(errno)")
        }
        (self.keyboard, descriptor) = (keyboard, screen)
    }

    deinit {
        close(descriptor)
        close(keyboard)
    }

    /// Whether it shows what is typed.
    var echoes: Bool {
        get throws {
            var settings = termios()
            guard tcgetattr(descriptor, &settings) == 0 else {
                throw ChildProcess.Failure("the terminal tells nothing: errno \(errno)")
            }
            return settings.c_lflag & tcflag_t(ECHO) != 0
        }
    }

    func enter(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard write(keyboard, bytes, bytes.count) == bytes.count else {
            throw ChildProcess.Failure("the terminal takes nothing: errno \(errno)")
        }
    }

    /// What it has shown so far, and what is typed now behind that, which it does show.
    var shown: String {
        get throws {
            try enter("end\n")
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = read(keyboard, &bytes, bytes.count)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }
    }
}
