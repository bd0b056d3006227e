// Change tokens that were damaged, made up, or made for another caller, in great number, beside a
// caller with valid ones. A node accepts the tokens that it made for the caller. It says of the
// others that they have expired or are of another zone. It says of another node's token that covers
// unread commits that it is behind.
//
// `cluster/chaos tokens` sends more of them.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct TokenAttackTests {
    private static let zone = RecordZone.ID(zoneName: "notes")
    private let folder: TestFolder
    private let key: String

    init() throws {
        folder = try TestFolder()
        key = "\(folder.path)/key"
        try Data(String(repeating: "5a", count: 32).utf8).write(to: URL(filePath: key))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    }

    /// What became of tokens of each kind.
    private struct Verdicts {
        var counts: [String: [String: Int]] = [:]

        mutating func add(_ kind: Kind, _ verdict: String) {
            counts[kind.rawValue, default: [:]][verdict, default: 0] += 1
        }

        mutating func add(_ others: Verdicts) {
            counts.merge(others.counts) { $0.merging($1, uniquingKeysWith: +) }
        }

        var text: String {
            counts.sorted { $0.key < $1.key }.map { kind, counts in
                "\(kind): "
                    + counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
                    .joined(separator: ", ")
            }.joined(separator: "; ")
        }
    }

    private enum Kind: String, CaseIterable {
        case flipped
        case madeUp = "made up"
        case ofAnotherUser = "another user's"
        case ofAnotherCluster = "another cluster's"
        case ahead
        case good

        var rightVerdict: String {
            switch self {
            case .flipped, .madeUp, .ofAnotherCluster: "expired"
            case .ofAnotherUser: "invalid"
            case .ahead: "behind"
            case .good: "taken"
            }
        }

        /// Tokens that are answered at once; the others take a second each, and are few.
        static let quick = allCases.filter { $0 != .ahead }
        static let slowOnes = 2
    }

    @Test func noTokenIsTakenThatWasNotMadeForIt() async throws {
        var node = try await startMember("node")
        let ahead = try await tokenFromAhead(&node)
        let stranger = try await NodeProcess.ready(data: "\(folder.path)/stranger")
        let container = try await node.signIn(as: "ada")
        let others = try await node.signIn(as: "eve")
        let theirs = try await stranger.signIn(as: "ada")
        var tokens: [Kind: Bytes] = [.ahead: ahead]
        for (kind, container) in [
            (Kind.good, container), (.ofAnotherUser, others), (.ofAnotherCluster, theirs),
        ] {
            _ = try await container.privateCloudDatabase.save(RecordZone(zoneID: Self.zone))
            let id = Record.ID(recordName: "r", zoneID: Self.zone)
            let record = Record(recordType: "Note", recordID: id)
            _ = try await container.privateCloudDatabase.save(record)
            tokens[kind] = try await Self.token(container)
        }
        let before = try #require(node.residentBytes)
        let made = tokens
        // A caller who may wait a second is told after half of it.
        let hurried = try await node.signIn(as: "ada", timeout: .seconds(1), connections: 1)
        let found = await withTaskGroup(of: Verdicts.self) { group in
            for task in 0..<16 {
                group.addTask {
                    var dice = SeededGenerator(seed: Chaos.seed &* 1_000 &+ UInt64(task))
                    return await Self.attack(container, hurried, made, using: &dice)
                }
            }
            return await group.reduce(into: Verdicts()) { $0.add($1) }
        }
        print("tokens: \(Chaos.mutations), seed \(Chaos.seed): \(found.text)")
        for kind in Kind.allCases {
            #expect(found.counts[kind.rawValue] != nil, "none was \(kind.rawValue)")
            let verdicts = Set((found.counts[kind.rawValue] ?? [:]).keys)
            #expect(verdicts == [kind.rightVerdict], "\(kind.rawValue)")
        }
        let grown = try #require(node.residentBytes) - before
        #expect(grown < 64 << 20, "the node grew by \(grown >> 20) MB")
        for container in [container, hurried, others, theirs] { await container.close() }
        #expect(try await node.end(SIGTERM) == .exit(0))
        #expect(try await stranger.end(SIGTERM) == .exit(0))
    }

    private func startMember(_ name: String, beside peer: NodeProcess? = nil) async throws
        -> NodeProcess
    {
        var arguments = ["--cluster-key", key]
        if let peer { arguments += ["--peers", try peer.endpoint] }
        return try await NodeProcess.ready(data: "\(folder.path)/\(name)", arguments: arguments)
    }

    /// A token of another member, which covers a record that nobody else will ever have.
    ///
    /// The node is another process in the end.
    private func tokenFromAhead(_ node: inout NodeProcess) async throws -> Bytes {
        let access = try await node.makeToken(of: "ada")
        let other = try await startMember("other", beside: node)
        var configuration = Container.Configuration(endpoints: [try other.endpoint])
        configuration.accessToken = access
        let container = Container(identifier: NodeProcess.container, configuration: configuration)
        let database = container.privateCloudDatabase
        let isKnown = try await eventually {
            (try? await database.save(RecordZone(zoneID: Self.zone))) != nil
        }
        #expect(isKnown)
        _ = try await node.end(SIGTERM)
        let id = Record.ID(recordName: "ahead", zoneID: Self.zone)
        _ = try await database.save(Record(recordType: "Note", recordID: id))
        let token = try await Self.token(container)
        await container.close()
        _ = try await other.end(SIGKILL)
        node = try await startMember("node")
        return token
    }

    private static func token(_ container: Container) async throws -> Bytes {
        let page = try await container.privateCloudDatabase.recordZoneChanges(
            inZoneWith: zone,
            since: nil
        )
        return Bytes(Data(base64Encoded: page.changeToken.text) ?? Data())
    }

    /// One of sixteen parts.
    private static func attack(
        _ container: Container,
        _ hurried: Container,
        _ made: [Kind: Bytes],
        using dice: inout SeededGenerator
    ) async -> Verdicts {
        var verdicts = Verdicts()
        for number in 0..<(Chaos.mutations / 16) {
            let quick = Kind.quick.randomElement(using: &dice) ?? .good
            let kind = number < Kind.slowOnes ? .ahead : quick
            let token = forge(kind, made, using: &dice)
            let caller = kind == .ahead ? hurried : container
            verdicts.add(kind, await verdict(token, in: caller))
        }
        return verdicts
    }

    private static func forge(
        _ kind: Kind,
        _ made: [Kind: Bytes],
        using dice: inout SeededGenerator
    ) -> Bytes {
        let whole = made[.good] ?? []
        switch kind {
        case .good, .ofAnotherUser, .ofAnotherCluster, .ahead: return made[kind] ?? []
        case .madeUp:
            let length = Int.random(in: 1...200, using: &dice)
            return (0..<length).map { _ in UInt8.random(in: 0...255, using: &dice) }
        case .flipped:
            var token = whole
            while token == whole || token.isEmpty {
                token = Damage.mutation(of: whole, using: &dice)
            }
            return token
        }
    }

    private static func verdict(_ token: Bytes, in container: Container) async -> String {
        do {
            let page = try await container.privateCloudDatabase.recordZoneChanges(
                inZoneWith: zone,
                since: ServerChangeToken(text: Data(token).base64EncodedString())
            )
            return page.modificationResultsByID.isEmpty ? "taken" : "taken, and told too much"
        } catch let error as ServiceError {
            switch error.code {
            case .changeTokenExpired: return "expired"
            case .invalidArguments: return "invalid"
            case .serviceUnavailable where error.reason == .nodeBehind: return "behind"
            default: return "\(error)"
            }
        } catch {
            return "\(error)"
        }
    }
}
