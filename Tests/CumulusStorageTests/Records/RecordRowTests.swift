// Record rows: what a row says comes back, its tag and digest mean what they should, and damage
// shows.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RecordRowTests {
    private static func place(of store: ScratchStore, _ name: String) -> RecordRow.Place {
        RecordRow.Place(
            database: store.zone.database,
            zone: store.zone.name,
            generation: store.zone.generation,
            name: name
        )
    }

    /// A record with some of everything: fields, removed fields, counters, references with and
    /// without targets, a parent.
    private static func history(seed: UInt64) throws -> (store: ScratchStore, rows: [Bytes]) {
        var dice = SeededGenerator(seed: seed)
        var store = try ScratchStore(seed: seed)
        try store.perform([.put(try Commit.Put("target", [:]))])
        let target = try #require(try store.record("target")).birth.dot
        var rows: [Bytes] = []
        var birth: Dot?
        for step in 0..<12 {
            store.now += .random(in: 0...2, using: &dice)
            var fields: [String: FieldValue?] = RandomFields.fields(upTo: 6, using: &dice)
            for _ in 0..<2 { fields.updateValue(nil, forKey: RandomFields.name(using: &dice)) }
            fields["owner"] = .list([.link("nobody"), .owner("target")])
            var put = try Commit.Put("n", birth: birth, fields)
            put.targets = [.init(field: "owner", element: 1, birth: target)]
            put.increments = [.init(field: "votes", delta: .random(in: -9...9, using: &dice))]
            if step % 4 == 1 { put.parent = .init(recordName: "target", birth: target) }
            if step % 4 == 3 { put.parent = .init(recordName: "", birth: nil) }
            try store.perform([.put(put)])
            let row = try #require(try store.record("n"))
            birth = row.birth.dot
            rows.append(try #require(try store.recordBytes("n")))
        }
        try store.perform([.delete(recordName: "n", births: [try #require(birth)])])
        rows.append(try #require(try store.recordBytes("n")))
        return (store, rows)
    }

    @Test(arguments: UInt64(1)...4)
    func aRowComesBack(seed: UInt64) throws {
        let (store, rows) = try Self.history(seed: seed)
        for bytes in rows {
            var row = try RecordRow(bytes)
            let read = row
            let sealed = try row.seal(at: Self.place(of: store, "n"))
            #expect(sealed == bytes)
            #expect(row == read)
        }
    }

    @Test func theHeadSaysWhatHappened() throws {
        var store = try ScratchStore()
        let created = try store.perform([.put(try Commit.Put("n", ["a": 1, "b": 2]))]).commit.stamp
        store.now += 5
        let changed = try store.perform([
            .put(try Commit.Put("n", birth: created.dot, ["b": nil, "c": 3]))
        ]).commit.stamp
        let row = try #require(try store.record("n"))
        #expect(row.birth == created)
        #expect(row.floor == created)
        #expect(row.modified == changed)
        #expect(row.frontier == [changed])
        #expect(row.fieldStamps == [created, changed])
        #expect(row.absent.map(\.name) == ["b"])
        #expect(row.absent.map(\.stamp) == [changed])
        #expect(row.body.bytes == WireField.body(["a": 1, "c": 3]))
        #expect((row.createdBy, row.modifiedBy) == ("_u", "_u"))
        #expect(row.device == [1, 2])
        #expect(changed.time.milliseconds == created.time.milliseconds + 5)
    }

    @Test func aTombstoneKeepsTypeAndLifeAndNothingElse() throws {
        var store = try ScratchStore()
        let created = try store.perform([.put(try Commit.Put("n", ["a": 1]))]).commit.stamp
        let deleted = try store.perform([.delete(recordName: "n", births: [created.dot])]).commit
            .stamp
        let row = try #require(try store.record("n"))
        #expect(row.isDead)
        #expect(row.type == "Note")
        #expect((row.birth, row.modified, row.frontier) == (created, deleted, [deleted]))
        #expect(row.body == RecordBody())
        let bytes = try #require(try store.recordBytes("n"))
        #expect(try RecordView(row: bytes, name: "n", keys: nil) == nil)
    }

    // MARK: Tag and digest

    @Test func everySaveMakesANewTagAlsoWithoutFields() throws {
        var store = try ScratchStore()
        let birth = try store.perform([.put(try Commit.Put("n", ["a": 1]))]).commit.stamp.dot
        var tags: Set<Bytes> = [try #require(try store.record("n")).tag]
        for fields in [[:], ["a": 1], ["b": nil]] as [[String: FieldValue?]] {
            try store.perform([.put(try Commit.Put("n", birth: birth, fields))])
            tags.insert(try #require(try store.record("n")).tag)
        }
        #expect(tags.count == 4)
        #expect(tags.allSatisfy { $0.count == 8 })
    }

    @Test func theSameHistoryMakesTheSameRow() throws {
        let (_, left) = try Self.history(seed: 5)
        let (_, right) = try Self.history(seed: 5)
        #expect(left == right)
    }

    @Test func theDigestDependsOnWhereTheRecordStands() throws {
        let store = try Self.history(seed: 1).store
        var row = try #require(try store.record("target"))
        var digests: Set<Bytes> = [row.digest]
        var places = [Self.place(of: store, "other"), Self.place(of: store, "target")]
        places[1].generation = 2
        places.append(Self.place(of: store, "target"))
        places[2].zone = "z"
        places.append(Self.place(of: store, "target"))
        places[3].database = .public
        for place in places {
            _ = try row.seal(at: place)
            digests.insert(row.digest)
        }
        #expect(digests.count == 5)
    }

    // MARK: Views

    @Test(arguments: UInt64(1)...4)
    func aViewOfTheBytesIsAViewOfTheRow(seed: UInt64) throws {
        for bytes in try Self.history(seed: seed).rows.dropLast() {
            let row = try RecordRow(bytes)
            #expect(try RecordView(row: bytes, name: "n", keys: nil) == RecordView(row, name: "n"))
            let keys = row.body.entries.prefix(2).map { row.body.name(of: $0) }
            let view = try RecordView(row: bytes, name: "n", keys: keys)
            #expect(view?.fields == row.body.selecting(keys).bytes)
            #expect(try RecordView(row: bytes, name: "n", keys: [])?.fields == [])
        }
    }

    // MARK: Damage

    @Test(arguments: UInt64(1)...3)
    func damageIsRefusedOrShowsInTheDigestUnlessItIsInACounter(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        let (store, rows) = try Self.history(seed: seed)
        let place = Self.place(of: store, "n")
        var seen = 0
        for bytes in rows {
            var damaged = Damage.truncations(of: bytes)
            for _ in 0..<100 { damaged.append(Damage.mutation(of: bytes, using: &dice)) }
            for candidate in damaged where candidate != bytes {
                _ = try? RecordView(row: candidate, name: "n", keys: nil)
                _ = try? RecordView(row: candidate, name: "n", keys: ["owner", "votes"])
                guard var row = try? RecordRow(candidate) else { continue }
                _ = try? row.backReferences()
                seen += 1
                // How a counter's sum is split is no part of the digest: a fold must not change it.
                if row.counters != (try RecordRow(bytes)).counters { continue }
                let sealed = try? row.seal(at: place)
                #expect(sealed != candidate)
            }
        }
        #expect(seen > 0)
    }
}
