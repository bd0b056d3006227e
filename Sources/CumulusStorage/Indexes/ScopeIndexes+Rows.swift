// Writes the index rows of records: with the record, or in later turns of the writer.
//
// Every change of a record calls `storeRows`. A request writes a bounded number of rows in its
// turn, so that a large save or deletion doesn't delay others. A record beyond the bound is owed:
// `payRows` writes its rows in later turns. The record stays owed until then, however often it
// changes. hot: once per saved record.

import CumulusModel

extension ScopeIndexes {
    /// Owed records that a turn reads at once.
    private static let mostRecords = 16
    /// Bytes of an owed record, as it was or as it is, that count as a row.
    private static let bytesPerRow = 4_096

    // MARK: At once

    /// Writes the index rows of a changed record, or leaves them to a later turn; nil means the
    /// record does not exist.
    func storeRows(
        of name: String,
        _ old: RecordRow?,
        _ new: RecordRow?,
        in zone: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        if try owesRows(of: name, in: zone, transaction) { return }
        let change = IndexChange(
            old: try indexed(old, name, &transaction),
            new: try indexed(new, name, &transaction)
        )
        let moves = change.moves.filter { !change.keeps($0.index) }
        let estimate = moves.reduce(0) { $0 + change.estimatedRows(of: $1) }
        guard estimate <= transaction.state.indexRowsLeft else {
            return try owe(name, old, in: zone, &transaction)
        }
        var count = 0
        for move in moves { count += try write(move, of: change, in: zone, &transaction) }
        transaction.state.indexRowsLeft = max(0, transaction.state.indexRowsLeft - count)
        transaction.state.indexRowsWritten += count
    }

    /// Gives a commit of another node its budget of index rows.
    ///
    /// Many such commits run in one turn; an ordinary record of each is never owed.
    static func allowRows(_ transaction: inout WriteTransaction) {
        transaction.state.indexRowsLeft += transaction.state.indexRowsPerTurn / 100
    }

    /// Writes the rows of a record in one index.
    ///
    /// Returns how many rows it wrote and deleted.
    ///
    /// - Parameter isSure: Whether all rows of the old record stand.
    private func write(
        _ move: IndexMove,
        of change: IndexChange,
        in zone: ZoneNumber,
        isSure: Bool = true,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        var gone: [HashedKey: Bytes] = [:]
        if move.leaves, let old = change.old {
            for row in try old.candidate.rows(in: zone, move.index) {
                gone[HashedKey(row.key.bytes)] = row.value
            }
        }
        var count = 0
        if move.enters, let new = change.new {
            for row in try new.candidate.rows(in: zone, move.index) {
                let known = gone.isEmpty ? nil : gone.removeValue(forKey: HashedKey(row.key.bytes))
                if isSure, known == row.value { continue }
                transaction.put(row.key, row.value)
                count += 1
            }
        }
        for key in gone.keys { transaction.put(RowKey(.indexRow, bytes: key.bytes), nil) }
        return count + gone.count
    }

    /// The record if it has rows in indexes; else nil.
    private func indexed(
        _ row: RecordRow?,
        _ name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> IndexedRecord? {
        guard let row, !row.isDead else { return nil }
        let indexes = try settled(row.type, &transaction)
        if indexes.isEmpty { return nil }
        let candidate = Candidate(row, named: name)
        return IndexedRecord(type: row.type, candidate: candidate, indexes: indexes)
    }

    // MARK: Owing

    /// Whether the rows of a record are owed.
    func owesRows(
        of name: String,
        in zone: ZoneNumber,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Bool {
        guard let owed = transaction.state.owedRecords[zone] else { return false }
        return try transaction.get(.owedIndexRows(owed.scope, zone, name)) != nil
    }

    /// Marks the rows of a record as owed.
    ///
    /// - Parameter old: The record that the standing rows describe; nil if there are none.
    private func owe(
        _ name: String,
        _ old: RecordRow?,
        in zone: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let base = try view(of: old, named: name, &transaction)
        let key = RowKey.owedIndexRows(scope, zone, name)
        transaction.put(key, try owed(base, &transaction))
        var owed = transaction.state.owedRecords[zone] ?? OwedRecords(scope: scope)
        owed.count += 1
        transaction.state.owedRecords[zone] = owed
        if owed.count > transaction.state.owedRecordsPerZone {
            transaction.state.owesTooMuch = true
        }
        transaction.state.owedIndexVersion += 1
    }

    /// - Parameter base: The record that the standing rows describe.
    private func owed(
        _ base: RecordView?,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> OwedIndexRows {
        let indexes = try base.map { (base) throws(EngineError) in
            try settled(base.type, &transaction)
        }
        let unready = indexes?.filter { !$0.isReady }.map(\.number).min()
        return OwedIndexRows(base: base, firstUnsure: unready ?? transaction.state.node.nextIndex)
    }

    /// The record with only its indexed fields; nil if it has no rows in indexes.
    private func view(
        of row: RecordRow?,
        named name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> RecordView? {
        guard let row, let indexed = try indexed(row, name, &transaction) else { return nil }
        let fields = Set(indexed.indexes.map(\.definition.field))
        var body = RecordBody()
        for entry in row.body.entries where fields.contains(row.body.name(of: entry)) {
            body.append(entry, of: row.body)
        }
        var view = RecordView(row, name: name)
        view.fields = body.bytes
        return view
    }

    /// Forgets what a zone owes.
    static func forgetOwedRows(of zone: ZoneNumber, _ transaction: inout WriteTransaction) {
        guard let owed = transaction.state.owedRecords.removeValue(forKey: zone) else { return }
        transaction.deleteRange(.log, .owedIndexRows(of: owed.scope, zone))
    }

    // MARK: Paying

    /// Writes owed rows of the scope, in the order of zones and names, until the limit is
    /// reached or slightly exceeded.
    package func payRows(limit: Int, _ transaction: inout WriteTransaction) throws(EngineError) {
        var left = limit
        let perTurn = transaction.state.storedBytesPerTurn
        while left > 0 {
            let range = KeyRange.owedIndexRows(of: scope)
            let page = try transaction.page(
                .log,
                range,
                limit: ScopeIndexes.mostRecords,
                byteLimit: min(left * ScopeIndexes.bytesPerRow, perTurn)
            ).rows
            if page.isEmpty { return }
            for (key, value) in page where left > 0 {
                let before = transaction.recordBytes
                left -= 1 + value.count / ScopeIndexes.bytesPerRow
                left -= try pay(key, value, limit: left, &transaction)
                left -= (transaction.recordBytes - before) / ScopeIndexes.bytesPerRow
            }
        }
    }

    /// Writes rows of an owed record; a record with more rows than the limit stays owed.
    ///
    /// Returns how many rows it wrote and deleted.
    private func pay(
        _ key: Bytes,
        _ value: Bytes,
        limit: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        let (_, zone, name) = try RowKey.owedIndexRows(key)
        let owed = try transaction.decoding(key) { () throws(MalformedBytes) in
            try OwedIndexRows(row: value)
        }
        let current = try view(of: try transaction.record(zone, name), named: name, &transaction)
        let part = owed.part ?? OwedIndexRows.Part(goal: current, next: 0)
        let (count, next) = try write(owed, part, in: zone, limit: limit, &transaction)
        let rowKey = RowKey(.owedIndexRows, bytes: key)
        if let next {
            var rest = owed
            rest.part = OwedIndexRows.Part(goal: part.goal, next: next)
            transaction.put(rowKey, rest)
        } else if part.goal == current {
            transaction.put(rowKey, nil)
            notePaid(in: zone, &transaction)
        } else {
            // The record changed between two turns.
            transaction.put(rowKey, try self.owed(part.goal, &transaction))
        }
        return count
    }

    /// Writes rows of the goal record, one index after the other.
    ///
    /// Returns how many rows it wrote and deleted, and the index to go on with; nil if there is
    /// none.
    private func write(
        _ owed: OwedIndexRows,
        _ part: OwedIndexRows.Part,
        in zone: ZoneNumber,
        limit: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (count: Int, next: IndexNumber?) {
        let change = IndexChange(
            old: try indexed(owed.base, &transaction),
            new: try indexed(part.goal, &transaction)
        )
        var count = 0
        for move in change.moves where move.index.number >= part.next {
            let number = move.index.number
            if count >= limit, count > 0 { return (count, number) }
            let isSure = number < owed.firstUnsure
            if isSure, change.keeps(move.index) { continue }
            count += try write(move, of: change, in: zone, isSure: isSure, &transaction)
        }
        return (count, nil)
    }

    private func indexed(
        _ view: RecordView?,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> IndexedRecord? {
        guard let view else { return nil }
        let indexes = try settled(view.type, &transaction)
        let candidate = try transaction.decoding(Bytes(view.name.utf8)) {
            () throws(MalformedBytes) in
            try Candidate(view)
        }
        return IndexedRecord(type: view.type, candidate: candidate, indexes: indexes)
    }

    /// The standing index rows of a zone's owed records.
    func standingRows(
        of zone: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [(key: RowKey, value: Bytes)] {
        if transaction.state.owedRecords[zone] == nil { return [] }
        var found: [(key: RowKey, value: Bytes)] = []
        for (key, value) in try transaction.rows(.log, .owedIndexRows(of: scope, zone)) {
            let owed = try transaction.decoding(key) { () throws(MalformedBytes) in
                try OwedIndexRows(row: value)
            }
            for view in Set([owed.base, owed.part?.goal]) {
                guard let record = try indexed(view, &transaction) else { continue }
                for index in record.indexes where owed.standing(in: index.number) == view {
                    found += try record.candidate.rows(in: zone, index)
                }
            }
        }
        return found
    }

    private func notePaid(in zone: ZoneNumber, _ transaction: inout WriteTransaction) {
        guard var owed = transaction.state.owedRecords[zone] else { return }
        owed.count -= 1
        transaction.state.owedRecords[zone] = owed.count > 0 ? owed : nil
    }
}

// MARK: - A change of a record

private struct IndexedRecord {
    let type: String
    let candidate: Candidate
    /// Indexes in the order of their numbers.
    let indexes: [NumberedIndex]
}

/// Which rows change in one index.
private struct IndexMove {
    let index: NumberedIndex
    /// Whether the index belongs to the old record's type.
    let leaves: Bool
    /// Whether the index belongs to the new record's type.
    let enters: Bool
}

/// A record before and after; nil if it has no rows in indexes.
private struct IndexChange {
    let old: IndexedRecord?
    let new: IndexedRecord?

    /// The type is the same before and after.
    private var staysInType: Bool { old?.type == new?.type }

    /// Ordered by the numbers of indexes.
    var moves: [IndexMove] {
        if staysInType {
            return (new?.indexes ?? []).map { IndexMove(index: $0, leaves: true, enters: true) }
        }
        let leaving = (old?.indexes ?? []).map {
            IndexMove(index: $0, leaves: true, enters: false)
        }
        let entering = (new?.indexes ?? []).map {
            IndexMove(index: $0, leaves: false, enters: true)
        }
        if leaving.isEmpty || entering.isEmpty { return leaving + entering }
        return (leaving + entering).sorted { $0.index.number < $1.index.number }
    }

    /// Whether an index needs no change; splitting texts into words again is expensive.
    func keeps(_ index: NumberedIndex) -> Bool {
        guard staysInType, let old, let new else { return false }
        return old.candidate.agrees(with: new.candidate, in: index.definition.column)
    }

    /// About how many rows come and go.
    func estimatedRows(of move: IndexMove) -> Int {
        let gone = move.leaves ? old?.candidate.estimatedRows(in: move.index) : nil
        let come = move.enters ? new?.candidate.estimatedRows(in: move.index) : nil
        return (gone ?? 0) + (come ?? 0)
    }
}
