// Retries: a request id has one effect and one answer.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RequestIDTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    private func request(
        _ id: RequestID,
        content: UInt8 = 1,
        by caller: Caller = .alice
    ) -> WriteRequest<ModifyRecords> {
        let saves = [SaveItem("r", increments: ["n": 1]), SaveItem("bad", ["d": .double(.nan)])]
        return WriteRequest(
            ModifyRecords(
                database: .private,
                policy: .changedKeys,
                saves: saves,
                deletes: [DeleteItem("x")]
            ),
            scope: store.scope,
            caller: caller,
            requestID: id,
            digest: Bytes(repeating: content, count: 16)
        )
    }

    private func fields(by caller: Caller = .alice) throws -> Bytes {
        try store.fetch("r", in: .private, by: caller).get().fields
    }

    private func code(
        _ answer: Result<ModifyOutcome, ServiceError>
    ) -> (ServiceError.Code, ServiceError.Reason)? {
        guard case .failure(let error) = answer else { return nil }
        return (error.code, error.reason)
    }

    @Test func theSameIDAgainGivesTheSameAnswerAndNoSecondEffect() throws {
        let id = store.newRequestID()
        let first = try store.run(request(id)).get()
        let rows = try store.allRows()
        #expect(try store.run(request(id)).get() == first)
        #expect(try store.allRows() == rows)
        #expect(try fields() == WireField.body(["n": 1]))
    }

    /// The caller merges with the server's record, which is not stored with the outcome.
    @Test func aRepeatedConflictComesWithTheServersRecordAgain() throws {
        try store.run(request(store.newRequestID()))
        let saves = [SaveItem("r", ["s": .string("mine")]), SaveItem("new", ["n": .int64(1)])]
        let modify = ModifyRecords(database: .private, isAtomic: false, saves: saves)
        let conflict = WriteRequest(
            modify,
            scope: store.scope,
            caller: .alice,
            requestID: store.newRequestID(),
            digest: [1]
        )
        let first = try store.run(conflict).get()
        guard case .failure(let failure) = first.saves[0] else { throw CancellationError() }
        #expect(failure.code == .serverRecordChanged)
        #expect(failure.serverRecord?.fields == WireField.body(["n": 1]))
        try store.restart()
        #expect(try store.run(conflict).get() == first)
    }

    // MARK: Rights

    /// Imports the type with these grants and no others.
    private func grant(_ grants: String) throws {
        try store.importType("Page", "n INT64, \(grants)")
    }

    private func outcome(_ request: WriteRequest<ModifyRecords>) throws -> ModifyOutcome {
        try store.run(request).get()
    }

    /// Bob's request on Alice's page: an increment, a save with a stale tag, and a new page.
    private func pages() throws -> WriteRequest<ModifyRecords> {
        try grant(#"GRANT READ TO "_world", GRANT CREATE, WRITE TO "_icloud""#)
        for name in ["old", "p"] {
            try store.save([SaveItem(name, ["n": 1], type: "Page")], in: .public)
        }
        let tag = try store.fetch("p", in: .public, by: .alice).get().changeTag
        let saves = [
            SaveItem("p", type: "Page", tag: tag, increments: ["n": 1]),
            SaveItem("old", ["n": 2], type: "Page", tag: Bytes(repeating: 1, count: 8)),
            SaveItem("new", ["n": 3], type: "Page"),
        ]
        let modify = ModifyRecords(database: .public, isAtomic: false, saves: saves)
        var request = store.request(modify, by: .bob)
        request.asker.digest = [1]
        return request
    }

    private func serverRecord(_ item: ModifyOutcome.Item) -> RecordView? {
        if case .failure(let failure) = item { failure.serverRecord } else { nil }
    }

    @Test func aRepetitionAsksForRightsLikeAFirstTry() throws {
        let request = try pages()
        let first = try outcome(request)
        #expect(first.codes == [nil, .serverRecordChanged, nil])
        #expect(serverRecord(first.saves[1])?.name == "old")
        #expect(try outcome(request) == first)
        // Bob may no longer change what others created. Bob may have created one of the records
        // himself.
        try grant(#"GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator""#)
        let second = try outcome(request)
        #expect(second.codes == [.permissionFailure, .permissionFailure, nil])
        #expect(serverRecord(second.saves[1]) == nil)
        #expect(try second.saves[2].get() == first.saves[2].get())
        try grant(#"GRANT READ TO "_world""#)
        #expect(try outcome(request).codes == Array(repeating: .permissionFailure, count: 3))
        // Nothing of that was written: a caller who gets its rights back is told the same as
        // before.
        try grant(#"GRANT READ TO "_world", GRANT CREATE, WRITE TO "_icloud""#)
        #expect(try outcome(request) == first)
    }

    @Test func aRepetitionShowsNothingThatItsCallerMayNotRead() throws {
        let request = try pages()
        let first = try outcome(request)
        #expect(try first.saves[0].get().fields == WireField.body(["n": 2]))
        try grant(#"GRANT READ TO "_creator", GRANT CREATE, WRITE TO "_icloud""#)
        let second = try outcome(request)
        #expect(second.codes == [nil, .permissionFailure, nil])
        #expect(try second.saves[0].get().fields == [])
        #expect(serverRecord(second.saves[1]) == nil)
    }

    @Test func alsoTwiceInOneBatch() throws {
        let id = store.newRequestID()
        let answers = try store.run([request(id), request(id)])
        #expect(try answers[0].get() == answers[1].get())
        #expect(try fields() == WireField.body(["n": 1]))
    }

    @Test func alsoAfterARestart() throws {
        let id = store.newRequestID()
        let first = try store.run(request(id)).get()
        try store.restart()
        #expect(try store.run(request(id)).get() == first)
        #expect(try fields() == WireField.body(["n": 1]))
    }

    @Test func anotherBodyIsRefused() throws {
        let id = store.newRequestID()
        try store.run(request(id))
        let answer = try code(store.run(request(id, content: 2)))
        #expect(answer?.0 == .invalidArguments)
        #expect(answer?.1 == .requestIDReused)
        #expect(try fields() == WireField.body(["n": 1]))
    }

    @Test func anotherUserIsAnotherRequest() throws {
        let id = store.newRequestID()
        try store.run(request(id))
        #expect(try code(store.run(request(id, content: 2, by: .bob))) == nil)
        #expect(try fields(by: .bob) == WireField.body(["n": 1]))
        #expect(try fields() == WireField.body(["n": 1]))
    }

    @Test func tooOldAndTooFarAheadAreRefused() throws {
        let limits = Limits.standard
        var dice = SeededGenerator(seed: 1)
        let ages: [(Int64, Bool)] = [
            (limits.requestMemoryMilliseconds, true), (limits.requestMemoryMilliseconds + 1, false),
            (-limits.requestLeadMilliseconds, true), (-limits.requestLeadMilliseconds - 1, false),
        ]
        for (age, isAccepted) in ages {
            let id = RequestID(milliseconds: store.now - age, using: &dice)
            let answer = try code(store.run(request(id)))
            #expect((answer == nil) == isAccepted)
            if let answer { #expect(answer == (.invalidArguments, .requestIDExpired)) }
        }
    }

    @Test func aRequestThatChangedNothingIsNotRemembered() throws {
        let id = store.newRequestID()
        let nothing = ModifyRecords(database: .private, deletes: [DeleteItem("nobody")])
        let empty = WriteRequest(
            nothing,
            scope: store.scope,
            caller: .alice,
            requestID: id,
            digest: [1]
        )
        let rows = try store.allRows()
        #expect(try code(store.run(empty)) == nil)
        #expect(try store.allRows() == rows)
        #expect(try code(store.run(request(id, content: 2))) == nil)
    }

    @Test func zonesAreRememberedToo() throws {
        let id = store.newRequestID()
        let zones = ModifyZones(saving: ["z"], deleting: ["nobody"])
        let request = WriteRequest(
            zones,
            scope: store.scope,
            caller: .alice,
            requestID: id,
            digest: [1]
        )
        let first = try store.run(request).get()
        try store.modify(ModifyZones(deleting: ["z"]), by: .alice)
        #expect(try store.run(request).get() == first)
        #expect(try store.zoneNumber(ZoneAddress(name: "z"), by: .alice) == nil)
    }

    @Test func whatIsRememberedIsReadBack() throws {
        var outcome = ModifyOutcome(saves: 2, deletes: 1)
        outcome.saves[0] = .success(
            .init(
                changeTag: [1, 2],
                created: -5,
                createdBy: "_a",
                modified: 6,
                modifiedBy: "_b",
                fields: [3]
            )
        )
        outcome.saves[1] = .failure(ModifyOutcome.atomicFailure)
        outcome.deletes[0] = .failure(.init(ServiceError(.referenceViolation, "why")))
        let bytes = outcome.rowBytes
        #expect(try ModifyOutcome(row: bytes) == outcome)
        for cut in Damage.truncations(of: bytes) {
            #expect(throws: MalformedBytes.self) { try ModifyOutcome(row: cut) }
        }
    }

    @Test func unknownContainersAreNamed() throws {
        var request = request(store.newRequestID())
        request.asker.scope = ScopeID(container: "iCloud.other", environment: .development)
        guard case .failure(let error) = try store.run(request) else {
            Issue.record("the request went through")
            return
        }
        #expect(error.code == .badContainer)
        #expect(
            error.message.contains("iCloud.other") && error.message.contains("container create")
        )
    }
}
