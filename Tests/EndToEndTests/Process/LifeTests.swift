// How the process of a node begins and ends: signals, and every start that has to fail with one
// clear line.

import Cumulus
import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Foundation
import RocksDBStorage
import Testing

@Suite struct LifeTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    // MARK: Connections

    #if os(Linux)
        /// A process that may open few files takes few connections, says so, and serves them:
        /// otherwise the store's files would be the next that can't be opened.
        @Test func fewFilesMeanFewConnections() async throws {
            let node = try await NodeProcess.ready(
                data: folder.node,
                prefix: ["/bin/sh", "-c", "ulimit -n 240 && exec \"$@\"", "sh"]
            )
            let container = try await node.signIn(timeout: .seconds(5))
            let database = container.privateCloudDatabase
            func save(_ name: String) async throws {
                let id = Record.ID(recordName: name)
                var record = Record(recordType: "Photo", recordID: id)
                record["image"] = .asset(Asset(data: Data(name.utf8)))
                _ = try await database.save(record)
            }
            try await save("before")
            let others = try (0..<300).map { _ in try RawClient(try node.endpoint) }
            // 64 tables and 128 other files are the store's.
            let taken = others.count { client in
                client.patience = 20
                do {
                    return try client.receive() != nil
                } catch {
                    return error as? RawClient.Failure == .silence
                }
            }
            #expect((40...48).contains(taken), "\(taken) connections were taken")
            try await save("meanwhile")
            #expect(node.errors.contains("connections are refused"), "\(node.errors)")
            for client in others { client.close() }
            let goesOn = try await eventually {
                (try? await node.makeToken(of: "bob")) != nil
            }
            #expect(goesOn)
            await container.close()
            #expect(try await node.end(SIGTERM) == .exit(0))
        }

        /// Neither process sets anything that needs a superuser: tests may run as one, services
        /// don't.
        @Test func nodeAndClientNeedNoPrivilege() async throws {
            let prefix = getuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set=-all"] : []
            let node = try await NodeProcess.ready(data: folder.node, prefix: prefix)
            let run = try await CommandLineRun(
                [
                    "status", "--endpoint", node.endpoint, "--operator-token-file",
                    node.operatorTokenFile,
                ],
                prefix: prefix
            )
            #expect(run.code == 0, "\(run.errors)")
            #expect(run.errors.isEmpty)
            #expect(try await node.end(SIGTERM) == .exit(0))
        }
    #endif

    /// Nothing of the first try is in the way of the next one.
    @Test func aFirstStartThatFailsLeavesNothing() async throws {
        let reserve = ["--disk-reserve", "\(UInt64.max / 2)"]
        let refused = try NodeProcess(data: folder.node, arguments: reserve)
        try await #expect(refused.waitForEnd() == .exit(1))
        #expect(refused.errors.contains("--disk-reserve"))
        #expect(!FileManager.default.fileExists(atPath: folder.node))
        // What others put there stays; so does all of a node that was started before.
        try FileManager.default.createDirectory(
            atPath: folder.node,
            withIntermediateDirectories: true
        )
        try "mine".write(toFile: folder.node + "/note", atomically: true, encoding: .utf8)
        let again = try NodeProcess(data: folder.node, arguments: reserve)
        try await #expect(again.waitForEnd() == .exit(1))
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.node)
        #expect(left == ["note"])
        let node = try await NodeProcess.ready(data: folder.node)
        let token = try await node.makeToken()
        try await #expect(node.end(SIGTERM) == .exit(0))
        let later = try NodeProcess(data: folder.node, arguments: reserve)
        try await #expect(later.waitForEnd() == .exit(1))
        let last = try await NodeProcess.ready(data: folder.node)
        let client = try RawClient(greeting: try last.endpoint, token: token)
        client.close()
        try await #expect(last.end(SIGTERM) == .exit(0))
    }

    // MARK: Ends

    @Test func aTerminatedNodeAnswersWhatItTookAndExits() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let container = try await node.signIn(timeout: .seconds(3))
        let writers = Writers(container.privateCloudDatabase)
        try await writers.prepare()
        async let writing: Void = writers.run(count: 64, seed: Chaos.seed)
        try await Task.sleep(for: .milliseconds(400))
        let began = ContinuousClock.now
        try await #expect(node.end(SIGTERM) == .exit(0))
        #expect(ContinuousClock.now - began < .seconds(10))
        writers.finish()
        await writing
        await container.close()
        let ledger = writers.state
        #expect(!ledger.acknowledged.isEmpty)
        // A draining node answers what it took: no outcome is unknown.
        #expect(ledger.failed.values.allSatisfy { !$0.contains("serverResponseLost") })
        let content = try folder.withStore { try StoreContent($0) }
        #expect(content.names.isSuperset(of: ledger.acknowledged.joined()))
        #expect(content.names.isDisjoint(with: ledger.failed.keys.joined()))
    }

    @Test func aSecondSignalEndsTheNodeAtOnce() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let token = try await node.makeToken()
        // A list that waits for credit keeps a draining node alive for seconds.
        let client = try RawClient(greeting: try node.endpoint, token: token)
        try fill(client)
        let list = client.call(.recordsList, RawRequest.list())
        try client.send(list)
        #expect(try client.nextFrame().kind == .message)
        node.kill(SIGTERM)
        while try client.nextFrame().kind != .drain {}
        let began = ContinuousClock.now
        node.kill(SIGTERM)
        try await #expect(node.waitForEnd() == .exit(130))
        #expect(ContinuousClock.now - began < .seconds(2))
    }

    @Test func aNodeWaitsForAListToEndBeforeItExits() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let client = try RawClient(greeting: try node.endpoint, token: try await node.makeToken())
        try fill(client)
        let list = client.call(.recordsList, RawRequest.list())
        try client.send(list)
        #expect(try client.nextFrame().kind == .message)
        node.kill(SIGTERM)
        while try client.nextFrame().kind != .drain {}
        try client.credit(100 << 20, on: list)
        #expect(try !client.answer(to: list).isEmpty)
        try await #expect(node.waitForEnd() == .exit(0))
    }

    // MARK: Starts

    @Test func theReadyLineNamesTheBoundPort() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let address = "127.0.0.1:\(try node.port)"
        #expect(node.output == "cumulusd listens on \(address)\ncumulusd ready on \(address)\n")
        #expect(try node.port > 0)
        _ = try RawClient(greeting: try node.endpoint)
    }

    @Test func aTakenPortIsNamed() async throws {
        let first = try await NodeProcess.ready(data: folder.node)
        let port = try first.port
        let second = try NodeProcess(data: "\(folder.path)/second", port: port)
        try await expectRefusal(second, naming: "127.0.0.1:\(port)")
    }

    /// Also where it was about to be made with its parents, and where something else was before.
    @Test(arguments: [
        ["--listen", "192.0.2.1:7420", "--insecure"],
        ["--listen", "nowhere.invalid:7420", "--insecure"],
        ["--tls-certificate", "/dev/null", "--tls-key", "/dev/null"],
        ["--cluster-key", "/nowhere/cluster.key"], ["--from-backup", "/nowhere/backup"],
    ]) func aStartThatFailsLeavesNoData(arguments: [String]) async throws {
        let first = try await NodeProcess.ready(data: folder.node)
        let parent = "\(folder.path)/new"
        func start(_ arguments: [String]) throws -> NodeProcess {
            let data = ["--data", "\(parent)/data"]
            return try NodeProcess(data: "\(folder.path)/other", arguments: data + arguments)
        }
        let taken = ["--listen", "127.0.0.1:\(try first.port)"]
        for arguments in [arguments, taken] {
            let refused = try start(arguments)
            try await #expect(refused.waitForEnd() == .exit(1))
            #expect(!FileManager.default.fileExists(atPath: parent), "\(refused.errors)")
        }
        try FileManager.default.createDirectory(
            atPath: parent,
            withIntermediateDirectories: false
        )
        let refused = try start(arguments)
        try await #expect(refused.waitForEnd() == .exit(1))
        #expect(try FileManager.default.contentsOfDirectory(atPath: parent) == [])
    }

    @Test func aLockedDirectoryIsNamed() async throws {
        let first = try await NodeProcess.ready(data: folder.node)
        let second = "\(folder.path)/second"
        try FileManager.default.createSymbolicLink(
            atPath: second,
            withDestinationPath: folder.node
        )
        try await expectRefusal(try NodeProcess(data: second), naming: "in use by another process")
        #expect(first.ending == nil)
    }

    @Test func aMissingCURRENTIsNamed() async throws {
        try await makeStore()
        try FileManager.default.removeItem(atPath: "\(folder.node)/store/CURRENT")
        try await expectRefusal(try NodeProcess(data: folder.node), naming: "CURRENT is missing")
    }

    /// A store that is gone is no reason to begin with an empty one, unless somebody says so.
    @Test(arguments: [false, true]) func aMissingStoreIsNamed(hasDirectory: Bool) async throws {
        try await makeStore()
        let (store, token) = ("\(folder.node)/store", "\(folder.node)/operator.token")
        try FileManager.default.removeItem(atPath: store)
        if hasDirectory {
            try FileManager.default.createDirectory(
                atPath: store,
                withIntermediateDirectories: false
            )
        }
        try await expectRefusal(try NodeProcess(data: folder.node), naming: "store is gone")
        try FileManager.default.removeItem(atPath: token)
        let node = try await NodeProcess.ready(data: folder.node)
        #expect(FileManager.default.fileExists(atPath: token))
        try await #expect(node.end(SIGTERM) == .exit(0))
    }

    @Test func aMissingJournalIsNamed() async throws {
        // How far the journal reaches is noted once a second.
        try await makeStore(idle: .milliseconds(1_500))
        for segment in try folder.storeFiles({ $0.hasSuffix(".journal") }) {
            try FileManager.default.removeItem(atPath: segment)
        }
        try await expectRefusal(try NodeProcess(data: folder.node), naming: "journal is missing")
    }

    @Test func anOperatorTokenThatOthersMayReadIsRefused() async throws {
        try await makeStore()
        let file = "\(folder.node)/operator.token"
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        try await expectRefusal(try NodeProcess(data: folder.node), naming: "chmod 600 \(file)")
    }

    /// The output goes nowhere then, and above all not into the store's files.
    @Test func aNodeRunsWithoutAnybodyWhoListens() async throws {
        for output in [">&- 2>&-", ">/dev/full 2>/dev/full"] {
            let port = TestPort.free()
            let process = try ChildProcess(
                ["/bin/sh", "-c", "exec \"$0\" \"$@\" \(output)", NodeProcess.program]
                    + ["--data", folder.node, "--listen", "127.0.0.1:\(port)"]
                    + ["--profile", "small"],
                variables: [:],
                output: "/dev/null",
                errors: "/dev/null"
            )
            let serves = try await eventually {
                (try? RawClient(greeting: "127.0.0.1:\(port)")) != nil
            }
            #expect(serves, "\(output)")
            process.kill(SIGTERM)
            #expect(try await process.waitForEnd(seconds: 20) == .exit(0), "\(output)")
        }
        let store = try NodeProcess(data: folder.node)
        #expect(try await waitUntilReady(store))
    }

    @Test func aFlippedByteInTheManifestIsNamed() async throws {
        try await makeStore()
        let manifest = try #require(try folder.storeFiles { $0.hasPrefix("MANIFEST") }.last)
        try folder.flip(manifest) { $0 / 2 }
        try await expectRefusal(try NodeProcess(data: folder.node), naming: "MANIFEST")
    }

    /// The one segment with records, and where the last one ends.
    private func segment() throws -> (file: String, end: Int) {
        for file in try folder.storeFiles({ $0.hasSuffix(".journal") }) {
            let data = try Data(contentsOf: URL(filePath: file))
            guard data.starts(with: Data("cumulus1".utf8)) else { continue }
            return (file, try #require(data.lastIndex { $0 != 0 }) + 1)
        }
        return try #require(nil, "no segment was begun")
    }

    @Test func aFlippedByteInTheMiddleOfTheJournalIsNamed() async throws {
        try await makeStore()
        let (segment, end) = try segment()
        try folder.flip(segment) { _ in end / 2 }
        let refused = try NodeProcess(data: folder.node)
        try await expectRefusal(refused, naming: ".journal is damaged")
    }

    @Test func aTornEndOfTheJournalIsNoDamage() async throws {
        try await makeStore()
        let (segment, end) = try segment()
        for place in end - 5..<end { try folder.flip(segment) { _ in place } }
        // As if nobody had noted the last save as durable: what a power cut tears, nobody has.
        try FileManager.default.removeItem(atPath: "\(folder.node)/store/journal.end")
        let node = try await NodeProcess.ready(data: folder.node)
        let container = try await node.signIn()
        for try await record in container.privateCloudDatabase.allRecords() {
            #expect(record["text"] != nil)
        }
        await container.close()
        try await #expect(node.end(SIGTERM) == .exit(0))
    }

    @Test func aNewerStorageFormatIsNamedAndLeftAlone() async throws {
        try await makeStore()
        let next = OpenStore.formatVersion + 1
        try folder.withStore { engine in
            var batch = EngineBatch()
            let row = NumberRow(number: next).rowBytes
            batch.writes = [.init(family: .meta, key: RowKey.format.bytes, value: row)]
            try engine.commit(batch)
        }
        let refused = try NodeProcess(data: folder.node)
        try await expectRefusal(refused, naming: "storage format \(next)")
        let row: NumberRow? = try folder.withStore {
            try ReadTransaction($0, reach: .disk).row(.format)
        }
        #expect(row?.number == next)
    }

    // MARK: The cluster's key

    @Test func aMissingClusterKeyIsNotMadeAnew() async throws {
        try await makeStore()
        try FileManager.default.removeItem(atPath: "\(folder.node)/cluster.key")
        let refused = try NodeProcess(data: folder.node)
        try await expectRefusal(refused, naming: "cluster.key is missing")
        #expect(!FileManager.default.fileExists(atPath: "\(folder.node)/cluster.key"))
    }

    @Test func aClusterKeyThatOthersMayReadIsRefused() async throws {
        try await makeStore()
        let key = "\(folder.node)/cluster.key"
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: key)
        try await expectRefusal(try NodeProcess(data: folder.node), naming: "chmod 600")
    }

    @Test func aStoreOfAnotherClusterIsRefused() async throws {
        try await makeStore()
        let key = "\(folder.node)/cluster.key"
        for (text, reason) in [
            (String(repeating: "5a", count: 32), "belongs to cluster"), ("5a5a", "64 hexadecimal"),
        ] {
            try Data(text.utf8).write(to: URL(filePath: key))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
            try await expectRefusal(try NodeProcess(data: folder.node), naming: reason)
        }
        let arguments = ["--cluster-key", "\(folder.path)/none"]
        let refused = try NodeProcess(data: folder.node, arguments: arguments)
        try await expectRefusal(refused, naming: "does not exist")
    }

    @Test func anAddressOfOthersNeedsInsecure() async throws {
        let arguments = ["--listen", "0.0.0.0:0"]
        let refused = try NodeProcess(data: folder.node, arguments: arguments)
        try await expectRefusal(refused, naming: "--insecure")
        let node = try NodeProcess(data: folder.node, arguments: arguments + ["--insecure"])
        try await #expect(waitUntilReady(node))
    }

    /// Nothing is scheduled on event loops that have ended.
    ///
    /// It depends on the order of threads, so the node stops a few times.
    @Test func aStopWithAnIdleHTTPConnectionIsQuiet() async throws {
        for _ in 0..<5 {
            let node = try await NodeProcess.ready(
                data: folder.node,
                arguments: ["--http", "127.0.0.1:0"]
            )
            let idle = try RawClient(try await node.httpEndpoint())
            try idle.send(Bytes("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
            let answer = String(decoding: try #require(try idle.receive()), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
            #expect(answer.contains("\r\nDate: "), "\(answer)")
            #expect(try await node.end(SIGTERM) == .exit(0))
            #expect(!node.errors.contains("ERROR"), "\(node.errors)")
            idle.close()
        }
    }

    @Test func aLogInJSONHasAnObjectPerLine() async throws {
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: ["--log-format", "json"]
        )
        #expect(try await node.end(SIGTERM) == .exit(0))
        let lines = try node.errors.split(separator: "\n").map { try JSONReader.read($0.utf8) }
        let ready = lines.first { $0["message"] == .string("ready") }
        #expect(ready?["level"] == .string("info"))
        #expect(ready?["metadata"]?["address"] != nil)
        #expect(lines.contains { $0["message"] == .string("ended") })
    }

    /// Also where the settings could not be read, and where the file names the format.
    @Test(
        arguments: [
            (["--log-format", "json", "--threads", "0"], 1, "threads: 0 is not between 1 and 256"),
            (["--log-format=json", "--config", "/nowhere.json"], 1, "/nowhere.json can't be read"),
            (["--config", "FILE", "--threads", "0"], 1, "threads: 0 is not between 1 and 256"),
            (["--log-format", "json", "--nothing"], 64, "Unknown option '--nothing'"),
        ] as [([String], Int32, String)]
    )
    func aLogInJSONSaysWhyANodeCannotStart(
        arguments: [String],
        code: Int32,
        why: String
    ) async throws {
        let file = "\(folder.path)/cumulus.json"
        try #"{"logFormat": "json"}"#.write(toFile: file, atomically: true, encoding: .utf8)
        let words = arguments.map { $0 == "FILE" ? file : $0 }
        let refused = try NodeProcess(data: folder.node, arguments: words)
        let ending = try await refused.waitForEnd()
        #expect(ending == .exit(code), "\(refused.errors)")
        let lines = refused.errors.split(separator: "\n")
        #expect(lines.count == 1, "\(lines)")
        let line = try JSONReader.read(try #require(lines.first).utf8)
        #expect(line["level"] == .string("critical"))
        #expect(line["time"] != nil && line["metadata"] == .object([]))
        guard case .string(let message) = line["message"] else {
            Issue.record("\(lines)")
            return
        }
        #expect(message.contains(why))
    }

    /// Others could not read from it, and it would look well.
    @Test func aNodeOfAClusterSaysWhereItIsReached() async throws {
        let arguments = ["--listen", "0.0.0.0:0", "--insecure", "--peers", "127.0.0.1:1"]
        let refused = try NodeProcess(data: folder.node, arguments: arguments)
        try await expectRefusal(refused, naming: "advertise: a node of a cluster")
    }

    @Test(arguments: [
        (["--limits", "itemsPerRequest=x"], "itemsPerRequest=x"),
        (["--limits", "nothing=1"], "'nothing' can't be set"),
        (["--log-format", "xml"], "log-format: 'xml' is neither text nor json"),
        (["--log-level", "loud"], "'loud'"), (["--profile", "huge"], "'huge'"),
        (["--disk-reserve", "lots"], "'lots'"), (["--threads=-1"], "threads"),
        (["--config", "/nowhere/cumulus.json"], "/nowhere/cumulus.json"),
        (["--listen", "nowhere:x"], "is no address; write host"),
        (["--peers", "nowhere:x"], "peers: 'nowhere:x'"),
        (["--disk-reserve", "9000000000000000000"], "full"),
        (["--cache", "lots"], "'lots'"), (["--cache", "101%"], "25%"),
        (["--cache", "1MB"], "16MB"), (["--cache", "1000000GB"], "less than"),
        (["--disk-reserve", "41943040"], "needs 268435456"),
        (["--disk-reserve", "0", "--profile", "standard"], "choose --profile small"),
        (["--threads", "0"], "between 1 and 256"), (["--readers", "100000"], "between 1 and 256"),
        (["--feed-retention-days", "0"], "feed-retention-days: 0 is not between 1 and"),
        (["--drain-milliseconds=-1"], "drain-milliseconds"),
        (["--drain-milliseconds", "9223372036854775807"], "drain-milliseconds"),
        (["--limits", "idleMilliseconds=9223372036854775807"], "idleMilliseconds"),
        (["--limits", "streamsPerConnection=9223372036854775807"], "streamsPerConnection"),
        (["--limits", "itemsPerRequest=4294967296"], "only 4294967295"),
        (["--limits", "unansweredBytes=99999999999"], "only 4294967295"),
        (["--limits", "userAssetBytes=1099511627777"], "only 1099511627776"),
        (["--calls-per-second", "5", "--calls-burst", "0"], "calls-burst: with 0 no call"),
        (["--bytes-per-second", "5"], "bytes-per-second: 5 are too few"),
        (["--calls-at-once", "some"], "calls-at-once: 'some' is not a number"),
        (["--access-lease", "2"], "access-lease: 2 seconds are too few"),
        (["--audit-megabytes", "lots"], "audit-megabytes: 'lots' is not a number"),
        (["--container", String(repeating: "x", count: 300)], "container"),
        (["--data", ""], "name a directory"),
        (["--data", "/proc/nowhere/data"], "/proc/nowhere/data can't be made"),
    ])
    func aSettingThatMakesNoSenseIsNamed(arguments: [String], text: String) async throws {
        let refused = try NodeProcess(data: folder.node, arguments: arguments)
        try await expectRefusal(refused, naming: text)
    }

    // MARK: Configuration

    @Test(arguments: [["--help"], ["run", "--help"]])
    func theHelpHasExamplesExitCodesAndFlags(words: [String]) async throws {
        let process = try ChildProcess(
            [try NodeProcess.program] + words,
            variables: [:],
            output: "\(folder.path)/help",
            errors: "/dev/null"
        )
        #expect(try await process.waitForEnd(seconds: 20) == .exit(0))
        let help = try String(contentsOfFile: "\(folder.path)/help", encoding: .utf8)
        #expect(help.contains("Examples:") && help.contains("Exit codes: 0 ended by a signal"))
        #expect(help.contains("cumulusd config show") && help.contains("--retention-days <days>"))
    }

    @Test func eachSettingNamesItsOrigin() throws {
        let file = "\(folder.path)/cumulus.json"
        try #"{"listen": "127.0.0.1:1", "threads": 7, "readers": 5, "insecure": true}"#
            .write(toFile: file, atomically: true, encoding: .utf8)
        let shown = try show(
            ["--config", file, "--listen", "127.0.0.1:3"],
            environment: ["CUMULUS_LISTEN": "127.0.0.1:2", "CUMULUS_THREADS": "8"]
        )
        #expect(shown["listen"] == ["value": "127.0.0.1:3", "origin": "flag"])
        #expect(shown["threads"] == ["value": "8", "origin": "environment CUMULUS_THREADS"])
        #expect(shown["readers"] == ["value": "5", "origin": "file \(file)"])
        #expect(shown["insecure"] == ["value": "true", "origin": "file \(file)"])
        #expect(shown["profile"] == ["value": "standard", "origin": "default"])
    }

    @Test func theFileMayBeNamedByTheEnvironment() throws {
        let file = "\(folder.path)/cumulus.json"
        try #"{"profile": "small"}"#.write(toFile: file, atomically: true, encoding: .utf8)
        let shown = try show([], environment: ["CUMULUS_CONFIG": file])
        #expect(shown["profile"] == ["value": "small", "origin": "file \(file)"])
    }

    /// Also where one of them is written with an escape, and a value looks like a key.
    @Test(arguments: [
        #"{"threads": 7, "listen": "127.0.0.1:1", "threads": 8}"#,
        #"{"threads": 7, "data": "\"threads\":", "\u0074hreads": 7}"#,
    ])
    func aSettingStandsOnceInTheFile(text: String) async throws {
        let file = "\(folder.path)/cumulus.json"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let refused = try NodeProcess(data: folder.node, arguments: ["--config", file])
        try await expectRefusal(refused, naming: "\(file): the key \"threads\" occurs twice")
    }

    @Test func aValueMayLookLikeAKey() throws {
        let file = "\(folder.path)/cumulus.json"
        try #"{"data": "a\"threads\":", "threads": 7}"#
            .write(toFile: file, atomically: true, encoding: .utf8)
        let shown = try show(["--config", file], environment: [:])
        #expect(shown["threads"] == ["value": "7", "origin": "file \(file)"])
    }

    @Test(arguments: ["1.5", "null", "[7]", "{}", "1e400"])
    func aValueOfTheWrongKindIsNamed(value: String) async throws {
        let file = "\(folder.path)/cumulus.json"
        try #"{"threads": 7, "retentionDays": \#(value)}"#
            .write(toFile: file, atomically: true, encoding: .utf8)
        let refused = try NodeProcess(data: folder.node, arguments: ["--config", file])
        let text = "'retentionDays' must be a text, a whole number, or true or false"
        try await expectRefusal(refused, naming: text)
    }

    /// As for the command line: what is empty says nothing.
    @Test func anEmptyVariableIsNotSet() throws {
        let shown = try show(
            [],
            environment: ["CUMULUS_CONFIG": "", "CUMULUS_THREADS": "", "CUMULUS_CONTAINER": ""]
        )
        #expect(shown.values.allSatisfy { $0["origin"] == "default" }, "\(shown)")
        #expect(shown["threads"]?["value"] == "2")
    }

    @Test func everyVariableIsNamed() async throws {
        let process = try ChildProcess(
            [try NodeProcess.program, "config", "show", "--help"],
            variables: ["COLUMNS": "400"],
            output: "\(folder.path)/help",
            errors: "/dev/null"
        )
        #expect(try await process.waitForEnd(seconds: 20) == .exit(0))
        let help = try String(contentsOfFile: "\(folder.path)/help", encoding: .utf8)
        let variables = try show([], environment: [:]).keys.map {
            "CUMULUS_" + $0.uppercased().replacing("-", with: "_")
        }
        let missing = (variables + ["CUMULUS_CONFIG"]).filter { !help.contains($0) }
        #expect(missing.isEmpty, "\(help)")
    }

    /// Every name in it is a setting's.
    @Test func theExampleCanBeUsed() throws {
        let file = Checkout.file("cluster/cumulusd.json").path()
        // Its certificates are elsewhere.
        let shown = try show(["--config", file], environment: [:], code: 1)
        #expect(shown["replicas"] == ["value": "1", "origin": "file \(file)"])
        #expect(shown["cluster-key"]?["origin"] == "file \(file)")
    }

    // MARK: Parts

    /// A store with a few saves in its journal, of a node that was killed.
    ///
    /// - Parameter idle: How long after the last save.
    private func makeStore(idle: Duration = .zero) async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let client = try RawClient(greeting: try node.endpoint, token: try await node.makeToken())
        try fill(client)
        try await Task.sleep(for: idle)
        try await #expect(node.end(SIGKILL) == .signal(SIGKILL))
    }

    /// Saves 400 KB in 20 requests.
    private func fill(_ client: RawClient) throws {
        for number in 0..<20 {
            var record = Record(recordType: "Note", recordID: .init(recordName: "r\(number)"))
            record["text"] = .string(String(repeating: "x", count: 20_000))
            _ = try client.perform(
                .recordsModify,
                RawRequest.save([record]),
                requestID: RawRequest.newID()
            )
        }
    }

    /// A start that failed said one line about it, and what it is about.
    private func expectRefusal(
        _ node: NodeProcess,
        naming text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let ending = try await node.waitForEnd()
        #expect(ending == .exit(1), "\(node.errors)", sourceLocation: sourceLocation)
        let lines = node.errors.split(separator: "\n")
        let said = lines.filter { $0.hasPrefix("cumulusd: ") }
        #expect(said.count == 1 && lines.count == 1, "\(lines)", sourceLocation: sourceLocation)
        #expect(said.first?.contains(text) == true, "\(lines)", sourceLocation: sourceLocation)
        #expect(node.output.isEmpty, sourceLocation: sourceLocation)
    }

    private func waitUntilReady(_ node: NodeProcess) async throws -> Bool {
        for _ in 0..<1_000 {
            if (try? node.endpoint) != nil { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    private func show(
        _ arguments: [String],
        environment: [String: String],
        code: Int32 = 0
    ) throws -> [String: [String: String]] {
        let process = Process()
        process.executableURL = URL(filePath: try NodeProcess.program)
        process.arguments = ["config", "show", "--json"] + arguments
        process.environment = environment
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == code)
        return try JSONDecoder().decode([String: [String: String]].self, from: said)
    }
}
