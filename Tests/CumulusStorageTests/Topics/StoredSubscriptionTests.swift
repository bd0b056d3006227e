// The registers of subscriptions: one form in bytes, and nothing else is read.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct StoredSubscriptionTests {
    // MARK: Material

    private static func operand(using dice: inout SeededGenerator) -> Query.Operand {
        switch Int.random(in: 0..<9, using: &dice) {
        case 0: .now
        case 1: .value(.string(["", "Grüße", "x\u{0}y"].randomElement(using: &dice) ?? ""))
        case 2: .value(.int64([.min, 0, .max].randomElement(using: &dice) ?? 0))
        case 3: .value(.double([-.infinity, 0.5].randomElement(using: &dice) ?? 0))
        case 4: .value(.timestamp(Timestamp(millisecondsSince1970: -1)))
        case 5: .value(.bytes([0, 0xFF]))
        case 6: .value(.location(Location(latitude: 48.2, longitude: -16.4)))
        default: .value(.reference(Record.Reference(recordName: "r")))
        }
    }

    private static func predicate(
        depth: Int = 3,
        using dice: inout SeededGenerator
    ) -> [Query.Node] {
        if depth == 0 || Int.random(in: 0..<3, using: &dice) == 0 {
            if Int.random(in: 0..<5, using: &dice) == 0 {
                return [.constant(Bool.random(using: &dice))]
            }
            // What fits the schema is for the binder to say.
            let values = (0...Int.random(in: 0...2, using: &dice)).map { _ in
                operand(using: &dice)
            }
            let node = Query.Node.comparison(Query.Comparison("key", .isIn, values))
            return Bool.random(using: &dice) ? [node] : [node, .not]
        }
        let (left, right) = (
            predicate(depth: depth - 1, using: &dice), predicate(depth: depth - 1, using: &dice)
        )
        return left + right + [Bool.random(using: &dice) ? .and : .or]
    }

    private static func zone(using dice: inout SeededGenerator) -> RecordZone.ID {
        Bool.random(using: &dice)
            ? RecordZone.ID(zoneName: "z") : RecordZone.ID(zoneName: "z", ownerName: "_bob")
    }

    private static func info(
        using dice: inout SeededGenerator
    ) -> Subscription.NotificationInfo {
        var info = Subscription.NotificationInfo()
        for part in Subscription.NotificationInfo.texts where Bool.random(using: &dice) {
            info[keyPath: part.path] = part.name
        }
        for part in Subscription.NotificationInfo.lists where Bool.random(using: &dice) {
            info[keyPath: part.path] = ["a", part.name]
        }
        for part in Subscription.NotificationInfo.flags {
            info[keyPath: part.path] = Bool.random(using: &dice)
        }
        return info
    }

    private static func stored(using dice: inout SeededGenerator) -> StoredSubscription {
        let type = Bool.random(using: &dice) ? nil : "Note"
        let isQuery = Bool.random(using: &dice)
        let kind: Subscription.Kind =
            if isQuery {
                .query(
                    recordType: "Note",
                    predicate: Query.Predicate(nodes: predicate(using: &dice)),
                    zone: Bool.random(using: &dice) ? nil : zone(using: &dice)
                )
            } else if Bool.random(using: &dice) {
                .zone(zone(using: &dice), recordType: type)
            } else {
                .database(recordType: type)
            }
        var subscription = Subscription(id: "s \(dice.next())", kind: kind)
        if isQuery {
            subscription.options = Subscription.Options(rawValue: .random(in: 1...15, using: &dice))
            subscription.allowsExtensions = Bool.random(using: &dice)
        }
        if Bool.random(using: &dice) { subscription.notificationInfo = info(using: &dice) }
        let databases: [DatabaseID] = [
            .public, DatabaseID(kind: .private, owner: "_alice"),
            DatabaseID(kind: .shared, owner: "_bob"),
        ]
        let database = databases[Int.random(in: databases.indices, using: &dice)]
        return StoredSubscription(user: "_alice", database: database, subscription)
    }

    // MARK: Bytes

    @Test func whatIsWrittenIsRead() throws {
        for seed in UInt64(1)...2_000 {
            var dice = SeededGenerator(seed: seed)
            let stored = Self.stored(using: &dice)
            let value = stored.subscription.storedBytes
            #expect(try StoredSubscription(key: stored.key, value: value) == stored, "\(seed)")
        }
    }

    @Test func whatIsCutOrLongerIsNotRead() throws {
        for seed in UInt64(1)...60 {
            var dice = SeededGenerator(seed: seed)
            let stored = Self.stored(using: &dice)
            let value = stored.subscription.storedBytes
            for end in value.indices {
                // Behind a whole part of the notification ends another whole subscription.
                let cut = try? StoredSubscription(key: stored.key, value: Bytes(value[..<end]))
                #expect(cut != stored)
                if stored.subscription.notificationInfo == nil { #expect(cut == nil, "\(seed)") }
            }
            #expect(throws: MalformedBytes.self, "\(seed)") {
                try StoredSubscription(key: stored.key, value: value + [0])
            }
        }
    }

    /// Damage is an error, or other bytes of another subscription; never two forms of one.
    @Test func whatIsChangedIsAnErrorOrSaysSomethingElse() throws {
        var (refused, others) = (0, 0)
        for seed in UInt64(1)...4_000 {
            var dice = SeededGenerator(seed: seed)
            let stored = Self.stored(using: &dice)
            let value = stored.subscription.storedBytes
            let damaged = Damage.mutation(of: value, using: &dice)
            guard damaged != value else { continue }
            guard let read = try? StoredSubscription(key: stored.key, value: damaged) else {
                refused += 1
                continue
            }
            others += 1
            #expect(read != stored, "\(seed)")
            #expect(read.subscription.storedBytes == damaged, "\(seed)")
        }
        #expect(refused > 1_000 && others > 100)
    }

    @Test func keysOfAnotherFormAreNotRead() throws {
        let subscription = Subscription(id: "s", kind: .database())
        let value = subscription.storedBytes
        let keys: [[Bytes]] = [
            [], [[0x61], [2]], [[0x61], [2], [0x73], []], [[0x61], [], [0x73]],
            [[0x61], [9], [0x73]], [[0x61], [2, 0x61], [0x73]], [[0xFF], [2], [0x73]],
            [[0x61], [3, 0xFF], [0x73]],
        ]
        for key in keys {
            #expect(throws: MalformedBytes.self, "\(key)") {
                try StoredSubscription(key: key, value: value)
            }
        }
        let read = try StoredSubscription(key: [[0x61], [2], [0x73]], value: value)
        #expect(read.user == "a" && read.database == DatabaseID(kind: .private, owner: "a"))
        #expect(read.subscription == subscription)
    }

    /// Pinned: they are on disks and travel between releases.
    @Test func theBytesOfOne() throws {
        let predicate = try Query.Predicate(format: "stars > 2")
        let zone = RecordZone.ID(zoneName: "z")
        let kind = Subscription.Kind.query(recordType: "Note", predicate: predicate, zone: zone)
        var info = Subscription.NotificationInfo()
        (info.title, info.desiredKeys, info.shouldBadge) = ("T", ["stars"], true)
        let subscription = Subscription(id: "s", kind: kind, notificationInfo: info)
        #expect(
            subscription.storedBytes.hex
                == "01" + "16" + "01" + "044e6f7465" + "01" + "05057374617273" + "05" + "01"
                + "0304"
                + "017a00" + "07" + "00" + "01" + "1a0154" + "7a057374617273" + "800101"
        )
        let stored = StoredSubscription(user: "_a", database: .public, subscription)
        #expect(stored.key.map(\.hex) == ["5f61", "01", "73"])
    }

    @Test func aValueOfALaterReleaseSaysSo() throws {
        let value = Subscription(id: "s", kind: .database()).storedBytes
        let error = #expect(throws: MalformedBytes.self) {
            try StoredSubscription(key: [[0x61], [2], [0x73]], value: [3] + value.dropFirst())
        }
        #expect(error?.reason.contains("later release") == true)
    }
}
