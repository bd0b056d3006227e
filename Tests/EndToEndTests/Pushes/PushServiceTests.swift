// `cumulusd --pushes` beside services in another language: one node wakes a device by each, and
// does what each says. And the commands on addresses.
//
// Some tests take seconds: pushes to a device are a second apart, and failures have their pauses.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)), .enabled(if: PushServices.isPossible, PushServices.skipped))
struct PushServiceTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func wait(_ what: Comment, until isSo: () async throws -> Bool) async throws {
        for _ in 0..<2_000 {
            if try await isSo() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record(what)
    }

    private func save(_ name: String, in container: Container) async throws {
        var note = Record(recordType: "Note", recordID: Record.ID(recordName: name))
        note["title"] = .string(name)
        try await container.privateCloudDatabase.save(note)
    }

    private func subscribe(_ container: Container) async throws {
        var info = Subscription.NotificationInfo()
        info.alertBody = "New note"
        info.shouldBadge = true
        info.collapseIDKey = "notes"
        let subscription = Subscription(
            id: "notes",
            kind: .query(recordType: "Note", predicate: .field("title").begins(with: "n")),
            notificationInfo: info
        )
        try await container.privateCloudDatabase.save(subscription)
    }

    @Test func eachServiceTakesWhatItIsSent() async throws {
        let services = try await PushServices(in: folder.path)
        defer { services.stop() }
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: ["--pushes", services.file]
        )
        let ada = try await node.signIn()
        // The first record makes the type.
        try await save("first", in: ada)
        try await subscribe(ada)
        for service in PushService.allCases {
            try await ada.register(services.address(service, 1))
        }
        try await save("n1", in: ada)
        try await wait("each is told") {
            PushService.allCases.allSatisfy { services.taken(by: $0).count == 1 }
        }
        print("Web Push is opened by \(services.opener)")
        for arrival in services.arrivals {
            #expect(arrival.problems == [])
            #expect(arrival.record == "n1", "\(arrival)")
        }

        // They fail as services do.
        services.answer(.apns, "503")
        services.answer(.webPush, "429", seconds: 1)
        services.answer(.fcm, "500")
        try await save("n2", in: ada)
        try await wait("each is told after a failure") {
            PushService.allCases.allSatisfy { services.taken(by: $0).last?.record == "n2" }
        }
        for service in PushService.allCases { services.answer(service, "410") }
        try await save("n3", in: ada)
        try await wait("all are gone") { try await ada.pushAddresses().isEmpty }
        #expect(services.arrivals.allSatisfy { $0.problems.isEmpty })
        await ada.close()
        try await #expect(node.end(SIGTERM) == .exit(0))
        // Keys, tokens and addresses are in no log.
        let log = node.errors
        for secret in ["PRIVATE KEY", "access-0", "/browser/1", "device-1", "bearer"] {
            #expect(!log.contains(secret))
        }
        #expect(log.contains("a device could not be pushed to"), "\(log)")
    }

    /// A service may have learned that a device is gone before the device registered: the address
    /// stays, and the next change is told.
    @Test func aDeviceThatCameBackStays() async throws {
        let services = try await PushServices(in: folder.path)
        defer { services.stop() }
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: ["--pushes", services.file]
        )
        let ada = try await node.signIn()
        try await save("first", in: ada)
        try await subscribe(ada)
        try await ada.register(services.address(.apns, 1))
        services.answer(.apns, "since")
        try await save("n1", in: ada)
        try await wait("it is said to be gone") { services.arrivals.count == 1 }
        try await save("n2", in: ada)
        try await wait("the next change is told") { services.taken(by: .apns).count == 1 }
        #expect(services.arrivals.map(\.record) == ["n1", "n2"])
        #expect(services.arrivals.map(\.status) == [410, 200])
        #expect(try await ada.pushAddresses().count == 1)
        await ada.close()
        try await #expect(node.end(SIGTERM) == .exit(0))
    }

    @Test func addressesByTheCommandLine() async throws {
        let services = try await PushServices(in: folder.path)
        defer { services.stop() }
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: ["--pushes", services.file]
        )
        let ada = try await node.signIn()
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_CONTAINER": NodeProcess.container,
            "CUMULUS_TOKEN": try await node.makeToken(),
        ]
        func push(_ words: String...) async throws -> CommandLineRun {
            try await CommandLineRun(["push"] + words, variables: variables)
        }
        let address = try services.address(.webPush, 1)
        let browser: JSON = [
            "endpoint": .string(address.token),
            "keys": [
                "p256dh": .string(Base64URL.encode(address.publicKey)),
                "auth": .string(Base64URL.encode(address.secret)),
            ],
        ]
        let file = "\(folder.path)/subscription.json"
        try Data(browser.text.utf8).write(to: URL(filePath: file))
        let token = String(repeating: "ab", count: 32)
        for words in [
            ["--web-push", file, "--label", "browser"], ["--fcm", "device-1"],
            ["--apns", token, "--topic", "com.example.notes"],
        ] {
            let made = try await CommandLineRun(["push", "register"] + words, variables: variables)
            #expect(made.code == 0, "\(made.errors)")
        }
        let wrong = try await push("register", "--apns", token, "--topic", "com.example.other")
        #expect(wrong.code != 0 && wrong.errors.contains("is no topic for which"))
        let table = try await push("list")
        #expect(table.code == 0 && table.output.contains("browser"), "\(table.errors)")
        let listed = try await push("list", "--json")
        guard case .array(let items) = try JSONReader.read(listed.output.utf8),
            case .string(let id)? = items.first?["id"]
        else {
            Issue.record("no list: \(listed.output)")
            return
        }
        #expect(items.map { $0["service"] } == ["web-push", "fcm", "apns"])
        let one = try await push("end", id)
        #expect(one.code == 0, "\(one.errors)")
        #expect(try await ada.pushAddresses().map(\.service) == [.fcm, .apns])
        let all = try await push("end", "--all", "--json")
        #expect(try JSONReader.read(all.output.utf8)["ended"] == .integer(2), "\(all.errors)")
        #expect(try await ada.pushAddresses().isEmpty)
        let both = try await push("end", id, "--all")
        #expect(both.code != 0 && both.errors.contains("or give --all"))
        await ada.close()
        try await #expect(node.end(SIGTERM) == .exit(0))
    }

    @Test func aServiceThatNeverAnswersHoldsNobodyUp() async throws {
        let services = try await PushServices(in: folder.path)
        defer { services.stop() }
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: ["--pushes", services.file]
        )
        let ada = try await node.signIn()
        try await save("first", in: ada)
        try await subscribe(ada)
        for service in PushService.allCases {
            try await ada.register(services.address(service, 1))
        }
        services.answer(.apns, "hang", count: 1_000)
        try await save("n1", in: ada)
        try await wait("the others are told") {
            !services.taken(by: .webPush).isEmpty && !services.taken(by: .fcm).isEmpty
        }
        try await save("n2", in: ada)
        try await wait("and again") {
            services.taken(by: .webPush).last?.record == "n2"
                && services.taken(by: .fcm).last?.record == "n2"
        }
        #expect(services.taken(by: .apns).isEmpty)
        await ada.close()
        // What is on its way holds up no end either.
        try await #expect(node.end(SIGTERM) == .exit(0))
    }

    @Test func usersAndOperatorsListAndEndAddresses() async throws {
        let services = try await PushServices(in: folder.path)
        defer { services.stop() }
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: ["--pushes", services.file]
        )
        let (ada, bob) = (try await node.signIn(), try await node.signIn(as: "bob"))
        let id = try await ada.register(services.address(.fcm, 1))
        try await bob.register(services.address(.fcm, 2))
        #expect(try await ada.pushAddresses().map(\.id) == [id])
        #expect(try await !bob.endPush(id))
        let admin = NodeOperator(endpoint: try node.endpoint, token: try node.operatorToken)
        let container = NodeProcess.container
        let listed = try await admin.pushAddresses(of: "ada", in: container, .development)
        #expect(listed.map(\.id) == [id] && listed.map(\.service) == [.fcm])
        #expect(try await admin.endPushes(id, of: "ada", in: container, .development) == 1)
        #expect(try await ada.pushAddresses().isEmpty)
        #expect(try await bob.pushAddresses().count == 1)
        await admin.close()
        await ada.close()
        await bob.close()
        try await #expect(node.end(SIGTERM) == .exit(0))
    }

    @Test func aMistakeIsToldAtTheStart() async throws {
        let file = "\(folder.path)/pushes.json"
        for (text, why) in [
            (nil, "pushes.json can't be read"),
            ("[{}]", "'[0].service' is missing"),
            (#"[{"service": "fcm", "keyFile": "nowhere.json"}]"#, "nowhere.json can't be read"),
            (
                #"[{"service": "fcm", "keyFile": "pushes.json", "authority": "ca.pem"}]"#,
                "ca.pem can't be read"
            ),
        ] as [(String?, String)] {
            if let text { try Data(text.utf8).write(to: URL(filePath: file)) }
            let node = try NodeProcess(data: folder.node, arguments: ["--pushes", file])
            #expect(try await node.waitForEnd(seconds: 20) == .exit(1))
            #expect(node.errors.contains(why), "\(node.errors)")
        }
    }
}
