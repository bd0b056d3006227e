// What databases hold, measured on several nodes: after random histories and any exchange the sums
// are equal everywhere, and what a plain loop finds.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct UsageTests {
    private static let users = ["_alice", "_bob"]
    private static let zones = [Names.defaultZone, "x", "y"]

    @Test(arguments: 1...12 as ClosedRange<UInt64>) func nodesMeasureTheSame(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        let stores = try (0..<3).map { try TestStore(seed: seed &* 8 &+ UInt64($0)) }
        for _ in 0..<120 {
            let store = stores[Int.random(in: 0..<3, using: &dice)]
            store.now += Int64.random(in: 0...2, using: &dice)
            if Int.random(in: 0..<4, using: &dice) == 0 {
                try store.take(from: stores[Int.random(in: 0..<3, using: &dice)])
            } else {
                try change(store, &dice)
            }
        }
        // What one hands on may have come last.
        for _ in 0..<2 {
            for store in stores { for other in stores { try store.take(from: other) } }
        }
        for user in Self.users {
            let usages = try stores.map { try usage(of: user, in: $0) }
            #expect(usages[0].records > 0 && usages[0].assetBytes > 0)
            #expect(usages.allSatisfy { $0 == usages[0] }, "\(usages)")
            let plain = try counted(user, in: stores[0])
            #expect(usages[0].bytes == plain.bytes && usages[0].assetBytes == plain.assets)
        }
        for store in stores { #expect(try DerivedRows.differences(in: store.engine) == []) }
    }

    // MARK: Steps

    /// Saves or deletes a record, or makes or deletes a zone.
    private func change(_ store: TestStore, _ dice: inout SeededGenerator) throws {
        let user = Self.users[Int.random(in: 0..<2, using: &dice)]
        let zone = Self.zones[Int.random(in: 0..<3, using: &dice)]
        let caller = Caller(role: .user(user))
        if zone != Names.defaultZone, Int.random(in: 0..<8, using: &dice) == 0 {
            let deletes = Int.random(in: 0..<4, using: &dice) == 0
            let names = [zone]
            let modify = deletes ? ModifyZones(deleting: names) : ModifyZones(saving: names)
            try store.modify(modify, by: caller)
            return
        }
        let address = ZoneAddress(name: zone)
        let database = DatabaseID(kind: .private, owner: user)
        let scope = try store.scopeNumber()
        guard
            let found = try store.reader.find(address, in: database, of: scope, by: caller)?.zone
        else { return }
        let name = "r\(Int.random(in: 0..<5, using: &dice))"
        if Int.random(in: 0..<4, using: &dice) == 0 {
            try store.delete([DeleteItem(name, in: address)], by: caller)
            return
        }
        let size = UInt64.random(in: 1...100_000, using: &dice)
        let asset = FieldValue.asset(Asset(digest: Bytes(repeating: 1, count: 32), size: size))
        let text = FieldValue.string(
            String(repeating: "x", count: Int.random(in: 0...300, using: &dice))
        )
        var fields: [String: FieldValue?] = ["text": text]
        switch Int.random(in: 0..<4, using: &dice) {
        case 0: fields["file"] = asset
        case 1: fields["file"] = .some(nil)
        case 2: fields["files"] = .list([asset, asset])
        default: break
        }
        // As a commit, and not as a request, which would want the content.
        let birth = try living(name, in: found, of: store)
        let operation = Commit.Operation.put(
            Commit.Put(
                recordName: name,
                birth: birth,
                type: birth == nil ? "Note" : "",
                fields: try RecordBody(checking: fields, zone: zone)
            )
        )
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let author = Author(user: user)
            _ = try transaction.perform([operation], in: scope, zone: found, author: author)
        }
    }

    private func living(
        _ name: String,
        in zone: Commit.Zone,
        of store: TestStore
    ) throws -> Dot? {
        let reader = store.reader
        guard let number = try reader.number(of: zone, in: store.scopeNumber()),
            let bytes = try reader.get(.record(number, name))
        else { return nil }
        let row = try RecordRow(bytes)
        return row.isDead ? nil : row.birth.dot
    }

    // MARK: What stores hold

    private func number(of user: String, in store: TestStore) throws -> DatabaseNumber {
        let id = DatabaseID(kind: .private, owner: user)
        return try #require(try store.reader.database(store.scopeNumber(), id))
    }

    private func usage(of user: String, in store: TestStore) throws -> DatabaseUsage {
        try store.reader.usage(of: number(of: user, in: store))
    }

    /// Bytes of all living rows, and of the assets that they name.
    private func counted(
        _ user: String,
        in store: TestStore
    ) throws -> (bytes: UInt64, assets: UInt64) {
        var sum: (bytes: UInt64, assets: UInt64) = (0, 0)
        for (_, zone) in try store.reader.zoneRows(of: number(of: user, in: store))
        where zone.exists {
            let shown = try store.reader.rows(.records, .records(of: zone.number))
            let others = try store.reader.rows(.records, .siblings(of: zone.number))
            for (_, value) in shown + others {
                let row = try RecordRow(value)
                guard !row.isDead else { continue }
                sum.bytes += UInt64(row.body.bytes.count)
                for entry in row.body.entries {
                    for asset in try row.body.assets(entry) { sum.assets += asset.size }
                }
            }
        }
        return sum
    }
}
