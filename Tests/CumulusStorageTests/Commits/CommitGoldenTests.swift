// Golden commits: our codec, which stores and sends them, against the bytes that protobuf
// prescribes.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct CommitGoldenTests {
    @Test(arguments: try Golden.all().filter { $0.message == "Commit" })
    func areReadAndWrittenAlike(golden: Golden) throws {
        #expect(try Commit(golden.bytes).encoded().hex == golden.bytes.hex)
    }

    @Test(arguments: try Golden.all().filter { $0.message == "Commit" })
    func theHeadSaysWhatTheCommitSays(golden: Golden) throws {
        let (head, commit) = (try CommitHead(golden.bytes), try Commit(golden.bytes))
        #expect(head.dot == commit.stamp.dot)
        #expect(head.time == commit.stamp.time)
        #expect(head.dep == commit.dep)
        for count in golden.bytes.indices {
            // Cut anywhere, it says the same or nothing.
            let cut = try? CommitHead(Bytes(golden.bytes.prefix(count)))
            #expect(cut == nil || count < 40 || cut?.dot == head.dot)
        }
    }

    @Test func aPutSaysWhatTheFileSays() throws {
        let commit = try Commit(Golden("Commit-put").bytes)
        let incarnation = Incarnation(0x1122_3344_5566_7788)
        #expect(commit.stamp.dot == Dot(incarnation, 7))
        #expect(commit.stamp.time.milliseconds == 1_795_230_000_000)
        #expect(commit.stamp.time.value & 0xFFFF == 3)
        #expect(commit.dep == [Dot(incarnation, 6), Dot(Incarnation(0x8877_6655_4433_2211), 9)])
        #expect(commit.requestID.count == 16)
        #expect(commit.user == "_u1")
        #expect(commit.device == Bytes("phone".utf8))
        #expect(commit.isGuarded)
        let zone = try #require(commit.zone)
        #expect(zone.database == DatabaseID(kind: .private, owner: "_u1"))
        #expect(zone.name == "Trips")
        #expect(zone.generation == 2)
        guard case .put(let put) = try #require(commit.operations.first) else {
            Issue.record("not a put")
            return
        }
        #expect(commit.operations.count == 1)
        #expect(put.recordName == "oslo")
        #expect(put.birth == Dot(incarnation, 3))
        #expect(put.type == "")
        #expect(put.increments == [.init(field: "visits", delta: -2)])
        #expect(put.resetCounters == [.init(field: "likes", delta: -9)])
        #expect(put.parent == .init(recordName: "norway", birth: Dot(incarnation, 2)))
        #expect(put.targets.map(\.element) == [0, 1])
        #expect(put.absorbed == [Dot(Incarnation(0x8877_6655_4433_2211), 4)])
        let names = put.fields.entries.map { put.fields.name(of: $0) }
        #expect(names == ["country", "old", "stops", "title"])
        let types = put.fields.entries.map(\.type)
        #expect(types == [.one(.reference), nil, .list(.reference), .one(.string)])
    }

    @Test func aPutOfAWholeRecordSaysSo() throws {
        for (name, isFull) in [("Commit-put-full", true), ("Commit-put", false)] {
            guard case .put(let put) = try Commit(Golden(name).bytes).operations[0] else {
                Issue.record("not a put")
                return
            }
            #expect(put.isFull == isFull)
        }
    }

    @Test func theOtherOperationsSayWhatTheFilesSay() throws {
        let incarnation = Incarnation(0x1122_3344_5566_7788)
        let births = [Dot(incarnation, 3), Dot(incarnation, 4)]
        #expect(
            try Commit(Golden("Commit-delete").bytes).operations
                == [.delete(recordName: "oslo", births: births)]
        )
        #expect(try Commit(Golden("Commit-zone-create").bytes).operations == [.zoneCreate])
        #expect(
            try Commit(Golden("Commit-zone-delete").bytes).operations == [.zoneDelete(reason: 1)]
        )
        let registers = try Commit(Golden("Commit-register").bytes)
        #expect(registers.zone == nil)
        let key = [Bytes("City".utf8), Bytes("name".utf8)]
        #expect(
            registers.operations == [
                .register(.init(namespace: "schema.field", key: key, value: Bytes("STRING".utf8))),
                .register(.init(namespace: "user", key: [Bytes("alice".utf8)], value: nil)),
                .register(.init(namespace: "flag", key: [[]], value: [])),
            ]
        )
    }

    /// Commits of other nodes are read too: whatever is cut off or changed must fail or be read.
    @Test(arguments: try Golden.all().filter { $0.message == "Commit" })
    func damagedOnesNeverCrash(golden: Golden) throws {
        var refused = 0
        for end in 0..<golden.bytes.count {
            if (try? Commit(Bytes(golden.bytes[..<end]))) == nil { refused += 1 }
        }
        var dice = SeededGenerator(seed: 11)
        for _ in 0..<500 {
            var bytes = golden.bytes
            let index = Int.random(in: 0..<bytes.count, using: &dice)
            bytes[index] = UInt8.random(in: 0...255, using: &dice)
            if (try? Commit(bytes)) == nil { refused += 1 }
        }
        #expect(refused > golden.bytes.count / 2)
    }

    /// A body may be copied as it stands: the canonical form of each golden field is itself.
    @Test(arguments: try Golden.all().filter { $0.message == "Field" })
    func fieldsAreCanonical(golden: Golden) throws {
        var canonicaliser = FieldCanonicaliser(zoneName: "Trips", zoneOwners: [])
        try canonicaliser.add(golden.bytes)
        var body = CanonicalWriter()
        body.present(RecordBody.fieldNumber, bytes: golden.bytes)
        #expect(try canonicaliser.finish().bytes.hex == body.bytes.hex)
    }
}
