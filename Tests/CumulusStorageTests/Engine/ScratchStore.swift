// A store in memory to which tests of this target write commits directly, below the operations.

import CumulusModel
import CumulusStorage
import CumulusTesting

struct ScratchStore {
    let engine = MemoryEngine()
    private(set) var state: WriterState
    let scope: ScopeNumber
    var now: Int64 = 1_750_000_000_000
    let zone = Commit.Zone(
        database: DatabaseID(kind: .private, owner: "_u"),
        name: Names.defaultZone,
        generation: 1
    )

    init(seed: UInt64 = 1) throws {
        var dice = SeededGenerator(seed: seed)
        state = try OpenStore.open(engine, using: &dice)
        var transaction = WriteTransaction(engine: engine, state: state)
        scope = try transaction.makeScope(ScopeID(container: "c", environment: .development))
        let (rows, state) = transaction.finish()
        engine.commit(rows.batch())
        self.state = state
    }

    var reader: ReadTransaction { ReadTransaction(engine, reach: .disk) }

    /// Runs work in a batch of its own.
    @discardableResult
    mutating func write<Outcome>(
        _ work: (inout WriteTransaction) throws(EngineError) -> Outcome
    ) throws(EngineError) -> Outcome {
        var group = GroupCommit(engine: engine, state: state)
        let outcome = try group.run(now: now) {
            (transaction: inout WriteTransaction) throws(EngineError) in
            (try work(&transaction), keep: true)
        }
        state = try group.commit()
        return outcome
    }

    /// Makes one commit in the default zone.
    @discardableResult
    mutating func perform(
        _ operations: [Commit.Operation],
        requestID: RequestID? = nil
    ) throws(EngineError) -> (commit: Commit, rows: [RecordRow]) {
        let (scope, zone) = (scope, zone)
        return try write { (transaction: inout WriteTransaction) throws(EngineError) in
            try transaction.perform(
                operations,
                in: scope,
                zone: zone,
                author: Author(requestID: requestID, user: "_u", device: [1, 2])
            )
        }
    }

    /// Goes on from the state that a group of one's own left.
    mutating func adopt(_ state: WriterState) {
        self.state = state
    }

    func zoneNumber() throws -> ZoneNumber? {
        guard let database = try reader.database(scope, zone.database) else { return nil }
        return try reader.zone(database, zone.name)?.number
    }

    /// The stored bytes of a record of the default zone.
    func recordBytes(_ name: String) throws -> Bytes? {
        guard let zone = try zoneNumber() else { return nil }
        return try reader.get(.record(zone, name))
    }

    func record(_ name: String) throws -> RecordRow? {
        try recordBytes(name).map { (bytes) throws(MalformedBytes) in try RecordRow(bytes) }
    }

    /// Every row of the store.
    func allRows() throws -> [[StoredRow]] {
        try Family.allCases.map { family in
            try reader.rows(family, KeyRange(start: [], end: [0xFF])).map(StoredRow.init)
        }
    }
}

extension Commit.Put {
    /// A put with these fields.
    init(_ name: String, birth: Dot? = nil, _ fields: [String: FieldValue?]) throws {
        self.init(
            recordName: name,
            birth: birth,
            type: birth == nil ? "Note" : "",
            fields: try RecordBody(checking: fields)
        )
    }
}
