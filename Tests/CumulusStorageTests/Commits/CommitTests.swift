// Commits: one form in bytes, linked into a chain.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct CommitTests {
    private static func dot(using dice: inout SeededGenerator) -> Dot {
        Dot(Incarnation(dice.next()), .random(in: 1...300, using: &dice))
    }

    private static func operation(
        using dice: inout SeededGenerator
    ) throws -> Commit.Operation {
        switch Int.random(in: 0..<8, using: &dice) {
        case 0: return .zoneCreate
        case 1: return .zoneDelete(reason: .random(in: 0...2, using: &dice))
        case 2:
            let value: Bytes? = [nil, [], [1, 2]].randomElement(using: &dice) ?? nil
            return .register(.init(namespace: "type", key: [[], [0xFF]], value: value))
        case 3: return .delete(recordName: "d", births: [dot(using: &dice), dot(using: &dice)])
        case 4:
            var entries = AccessEntries()
            entries.join(AccessEntries.root(.record(name: "r", birth: dot(using: &dice))))
            entries.join(entries.joining("_v", now: .random(in: 0...9, using: &dice)))
            let births = Bool.random(using: &dice) ? [] : [dot(using: &dice)]
            return .access(.init(recordName: "s", births: births, entries: entries.entries))
        case 5:
            let share = ["", "s"].randomElement(using: &dice)
            return .access(.init(recordName: "r", births: [dot(using: &dice)], share: share))
        default:
            var fields: [String: FieldValue?] = RandomFields.fields(upTo: 4, using: &dice)
            fields.updateValue(nil, forKey: "zz")
            var put = try Commit.Put("n", fields)
            if Bool.random(using: &dice) {
                put.birth = dot(using: &dice)
                put.type = ""
            }
            if Bool.random(using: &dice) {
                put.increments = [.init(field: "i", delta: .min), .init(field: "j", delta: 0)]
                put.resetCounters = [.init(field: "k", delta: -3)]
                put.targets = [.init(field: "r", element: 0, birth: dot(using: &dice))]
                put.absorbed = [dot(using: &dice), dot(using: &dice)]
            }
            switch Int.random(in: 0..<3, using: &dice) {
            case 0: put.parent = .init(recordName: "", birth: nil)
            case 1: put.parent = .init(recordName: "p", birth: dot(using: &dice))
            default: break
            }
            return .put(put)
        }
    }

    private static func commit(using dice: inout SeededGenerator) throws -> Commit {
        var operations: [Commit.Operation] = []
        for _ in 0..<Int.random(in: 0...4, using: &dice) {
            operations.append(try operation(using: &dice))
        }
        let database = DatabaseID(
            kind: Bool.random(using: &dice) ? .public : .private,
            owner: Bool.random(using: &dice) ? "" : "_u"
        )
        return Commit(
            stamp: Stamp(HybridTime(dice.next()), dot(using: &dice)),
            dep: [dot(using: &dice), dot(using: &dice)].sorted(),
            previousHash: Bytes(repeating: 9, count: 16),
            requestID: Bool.random(using: &dice) ? [] : Bytes(repeating: 4, count: 16),
            user: "_u",
            device: [1],
            isGuarded: .random(using: &dice),
            zone: Bool.random(using: &dice)
                ? nil : Commit.Zone(database: database, name: "z", generation: 3),
            operations: operations
        )
    }

    @Test func theBytesAreWhatTheyAlwaysWere() throws {
        let put = try Commit.Put("n", ["a": 1])
        let commit = Commit(
            stamp: Stamp(HybridTime(0x0102), Dot(Incarnation(3), 4)),
            dep: [Dot(Incarnation(1), 2)],
            previousHash: Commit.noHash,
            requestID: [],
            user: "_u",
            device: [],
            isGuarded: true,
            zone: Commit.Zone(database: .public, name: "z", generation: 1),
            operations: [.put(put), .delete(recordName: "d", births: [])]
        )
        let head =
            "090300000000000000" + "1004" + "190201000000000000"
            + "220b" + "090100000000000000" + "1002" + "2a10" + String(repeating: "00", count: 16)
        let place = "3a025f75" + "4801" + "5001" + "62017a" + "6801"
        let operations =
            "7212" + "0a10" + "0a016e" + "1a044e6f7465" + "52050a01611802"
            + "7205" + "1203" + "0a0164"
        #expect(commit.encoded().hex == head + place + operations)
    }

    @Test(arguments: UInt64(1)...4)
    func aCommitComesBack(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let commit = try Self.commit(using: &dice)
            #expect(try Commit(commit.encoded()) == commit)
        }
    }

    @Test(arguments: UInt64(1)...4)
    func damageIsRefusedOrEncodesIdentically(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        var accepted = 0
        for _ in 0..<20 {
            let bytes = try Self.commit(using: &dice).encoded()
            var damaged = Damage.truncations(of: bytes)
            for _ in 0..<100 { damaged.append(Damage.mutation(of: bytes, using: &dice)) }
            for candidate in damaged {
                guard let commit = try? Commit(candidate) else { continue }
                accepted += 1
                #expect(commit.encoded() == candidate)
            }
        }
        #expect(accepted > 0)
    }

    static let refused: [(String, Bytes)] = {
        let commit = Commit(
            stamp: Stamp(HybridTime(1), Dot(Incarnation(1), 1)),
            dep: [],
            previousHash: Commit.noHash,
            requestID: [],
            user: "",
            device: [],
            isGuarded: false,
            zone: nil,
            operations: []
        ).encoded()
        return [
            ("nothing", []),
            ("an unknown field", commit + [0x7A, 0]),
            ("a default value", commit + [0x48, 0]),
            ("a long varint", commit + [0x48, 0x81, 0]),
            ("an unknown flag", commit + [0x48, 3]),
            ("an unknown database", commit + [0x50, 9]),
            ("a database that only looks known", commit + [0x50, 0x81, 2]),
            ("a zone without a database", commit + [0x62, 1, 0x7A]),
            ("an empty operation", commit + [0x72, 0]),
            ("an unknown operation", commit + [0x72, 2, 0x3A, 0]),
            ("an access entry without a key", commit + [0x72, 4, 0x32, 2, 0x1A, 0]),
            ("an operation that is two", commit + [0x72, 4, 0x1A, 0, 0x1A, 0]),
            ("a zone creation with content", commit + [0x72, 4, 0x1A, 2, 8, 1]),
            ("fields out of order", Bytes(commit[9...]) + commit[..<9]),
        ]
    }()

    @Test(arguments: refused)
    func otherFormsAreRefused(what: String, bytes: Bytes) {
        #expect(throws: MalformedBytes.self) { try Commit(bytes) }
    }

    @Test func accessEntriesAreInOrderAndKnown() throws {
        var dice = SeededGenerator(seed: 1)
        var commit = try Self.commit(using: &dice)
        let entries = AccessEntries().joining("_v", now: 1)
        let unknown = AccessEntries.Entry(key: [9], value: [1])
        for wrong in [entries.reversed(), [entries[0], entries[0]], [unknown]] as [[_]] {
            commit.operations = [.access(.init(recordName: "s", births: [], entries: wrong))]
            #expect(throws: MalformedBytes.self) { try Commit(commit.encoded()) }
        }
        commit.operations = [.access(.init(recordName: "s", births: [], entries: entries))]
        #expect(try Commit(commit.encoded()) == commit)
    }

    @Test func theChainDependsOnEveryByteBefore() {
        let first = Commit.hash(previous: Commit.noHash, commit: [1, 2])
        #expect(first.count == 16)
        #expect(first != Commit.hash(previous: Commit.noHash, commit: [1, 3]))
        #expect(first != Commit.hash(previous: Bytes(repeating: 1, count: 16), commit: [1, 2]))
    }
}
