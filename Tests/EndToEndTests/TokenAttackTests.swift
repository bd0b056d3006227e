// Change tokens that were damaged, made up, or made for somebody else, in great number, beside a
// caller with good ones: a node takes what it made, for whom it made it, and says of the rest that
// it has expired, or is of another zone.
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

    init() throws {
        folder = try TestFolder()
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
        case good

        var rightVerdict: String {
            switch self {
            case .flipped, .madeUp, .ofAnotherCluster: "expired"
            case .ofAnotherUser: "invalid"
            case .good: "taken"
            }
        }
    }

    @Test func noTokenIsTakenThatWasNotMadeForIt() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let stranger = try await NodeProcess.ready(data: "\(folder.path)/stranger")
        let container = try await node.signIn(as: "ada")
        let others = try await node.signIn(as: "eve")
        let theirs = try await stranger.signIn(as: "ada")
        var tokens: [Kind: Bytes] = [:]
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
        let found = await withTaskGroup(of: Verdicts.self) { group in
            for task in 0..<16 {
                group.addTask {
                    var dice = SeededGenerator(seed: Chaos.seed &* 1_000 &+ UInt64(task))
                    return await Self.attack(container, made, using: &dice)
                }
            }
            return await group.reduce(into: Verdicts()) { $0.add($1) }
        }
        print("tokens: \(Chaos.mutations), seed \(Chaos.seed): \(found.text)")
        for kind in Kind.allCases {
            let verdicts = Set((found.counts[kind.rawValue] ?? [:]).keys)
            #expect(verdicts == [kind.rightVerdict], "\(kind.rawValue)")
        }
        let grown = try #require(node.residentBytes) - before
        #expect(grown < 64 << 20, "the node grew by \(grown >> 20) MB")
        for container in [container, others, theirs] { await container.close() }
        #expect(try await node.end(SIGTERM) == .exit(0))
        #expect(try await stranger.end(SIGTERM) == .exit(0))
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
        _ made: [Kind: Bytes],
        using dice: inout SeededGenerator
    ) async -> Verdicts {
        var verdicts = Verdicts()
        for _ in 0..<(Chaos.mutations / 16) {
            let kind = Kind.allCases.randomElement(using: &dice) ?? .good
            let token = forge(kind, made, using: &dice)
            verdicts.add(kind, await verdict(token, in: container))
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
        case .good, .ofAnotherUser, .ofAnotherCluster: return made[kind] ?? []
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
            default: return "\(error)"
            }
        } catch {
            return "\(error)"
        }
    }
}
