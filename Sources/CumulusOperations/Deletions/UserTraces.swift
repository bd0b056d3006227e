// What a deleted user has in a container, and how it goes: a few zones, shares or registers in each
// turn of the writer, so that callers hardly notice.
//
// `DeletionKeeper` of the node asks for one turn after the other, until nothing is left. A process
// that ends in the middle goes on after its next start: what is left says what is to be done.

import CumulusModel
package import CumulusStorage

package struct UserTraces: Sendable {
    /// What a turn did.
    package enum Turn: Hashable, Sendable {
        case done
        /// There may be more.
        case more
        /// There may be more, and references to a deleted record of the public database.
        case orphaned(Commit.Zone, recordName: String)
        /// Another node deletes the rest, as long as it is not late.
        case waits
    }

    /// Zones that one turn deletes or leaves.
    private static let zonesAtOnce = 20
    /// Subscriptions that one turn ends.
    private static let registersAtOnce = 1_000
    /// The reason that apps are told for the deletion of zones: they were purged.
    private static let purged: UInt8 = 1

    private let deletion: DeletedUsers.Deletion
    /// The user's record name in the container.
    private let user: String
    private let scope: ScopeNumber

    package init(
        of deletion: DeletedUsers.Deletion,
        in container: String,
        _ scope: ScopeNumber
    ) {
        self.deletion = deletion
        self.scope = scope
        user = deletion.recordName(in: container)
    }

    // MARK: Looking

    /// Whether nothing is left to be deleted.
    package func isEmpty(_ reader: ReadTransaction) throws(EngineError) -> Bool {
        guard try zones(reader).isEmpty, try sharedZones(reader).isEmpty,
            try subscriptions(reader).isEmpty, try !hasRoles(reader),
            try record(reader) == nil
        else { return false }
        return try marks(reader).isEmpty
    }

    /// The zones of the user's private database that exist.
    private func zones<Reader: RowReader & ~Copyable>(
        _ reader: borrowing Reader
    ) throws(EngineError) -> [Commit.Zone] {
        let database = DatabaseID(kind: .private, owner: user)
        guard let number = try reader.database(scope, database) else { return [] }
        return try reader.zoneRows(of: number).filter(\.row.exists).map { name, row in
            Commit.Zone(database: database, name: name, generation: row.generation)
        }
    }

    /// Zones of others in which the user takes part, with the changes by which it leaves.
    private func sharedZones<Reader: RowReader & ~Copyable>(
        _ reader: borrowing Reader
    ) throws(EngineError) -> [(zone: Commit.Zone, changes: [Commit.Operation])] {
        var found: [(zone: Commit.Zone, changes: [Commit.Operation])] = []
        for entry in try reader.visibleZones(of: user, in: scope) {
            let database = DatabaseID(kind: .private, owner: entry.owner)
            guard let located = try reader.locate(entry.zone, in: database, of: scope),
                let number = located.number
            else { continue }
            var changes: [Commit.Operation] = []
            for name in entry.row.shares {
                guard let share = try reader.share(name, in: number),
                    let left = try reader.leave(share, by: user, in: number)
                else { continue }
                changes.append(.access(left))
            }
            if !changes.isEmpty { found.append((located.zone, changes)) }
        }
        return found
    }

    private func subscriptions<Reader: RowReader & ~Copyable>(
        _ reader: borrowing Reader
    ) throws(EngineError) -> [[Bytes]] {
        let key = [Bytes(user.utf8)]
        return try reader.registers(scope, StoredSubscription.namespace, below: key)
            .map { key + $0.key }
    }

    private func hasRoles<Reader: RowReader & ~Copyable>(
        _ reader: borrowing Reader
    ) throws(EngineError) -> Bool {
        let key = [Bytes(user.utf8)]
        for (_, value) in try reader.registers(scope, RoleAssignment.namespace, below: key) {
            let assignment = try reader.decoding(value) { () throws(MalformedBytes) in
                try RoleAssignment(value: value)
            }
            if assignment.isGiven { return true }
        }
        return false
    }

    /// The user's own record in the public database; nil if it holds nothing.
    private func record<Reader: RowReader & ~Copyable>(
        _ reader: borrowing Reader
    ) throws(EngineError) -> (zone: Commit.Zone, number: ZoneNumber)? {
        guard let located = try reader.locate(Names.defaultZone, in: .public, of: scope),
            let number = located.number,
            let record = try reader.record(number, user), !record.isDead
        else { return nil }
        return (located.zone, number)
    }

    /// The registers of what the user has read, of what was told on its behalf, and of where its
    /// devices are woken.
    private func marks<Reader: RowReader & ~Copyable>(
        _ reader: borrowing Reader
    ) throws(EngineError) -> [RowKey] {
        var found: [RowKey] = []
        for namespace in ReadMarks.namespaces + [StoredPush.namespace] {
            let key = [Bytes(user.utf8)]
            for (rest, _) in try reader.registerRows(scope, namespace, below: key) {
                found.append(.register(scope, namespace, key + rest))
            }
        }
        return found
    }

    // MARK: Deleting

    /// Deletes a part of what is left, in the writer.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    package func delete(
        now: Int64,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Turn {
        // No other node needs to hear of these.
        for key in try marks(transaction) { transaction.put(key, nil) }
        guard DeletionTurns.isDue(deletion.stamp, now: now, transaction.state) else {
            return .waits
        }
        if try deleteZones(&transaction) { return .more }
        if try leaveShares(&transaction) { return .more }
        if try endSubscriptions(&transaction) { return .more }
        if try AssignedRoles.takeAll(from: user, in: scope, &transaction) > 0 { return .more }
        return try deleteRecord(&transaction)
    }

    private func deleteZones(_ transaction: inout WriteTransaction) throws(EngineError) -> Bool {
        let zones = try zones(transaction).prefix(UserTraces.zonesAtOnce)
        for zone in zones {
            _ = try transaction.perform(
                [.zoneDelete(reason: UserTraces.purged)],
                in: scope,
                zone: zone,
                author: Author()
            )
        }
        return !zones.isEmpty
    }

    private func leaveShares(_ transaction: inout WriteTransaction) throws(EngineError) -> Bool {
        let zones = try sharedZones(transaction).prefix(UserTraces.zonesAtOnce)
        for (zone, changes) in zones {
            _ = try transaction.perform(changes, in: scope, zone: zone, author: Author())
        }
        return !zones.isEmpty
    }

    private func endSubscriptions(
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let registers = try subscriptions(transaction).prefix(UserTraces.registersAtOnce).map {
            Commit.Register(namespace: StoredSubscription.namespace, key: $0, value: nil)
        }
        if !registers.isEmpty { try ScopeRegisters(of: scope).set(registers, &transaction) }
        return !registers.isEmpty
    }

    private func deleteRecord(_ transaction: inout WriteTransaction) throws(EngineError) -> Turn {
        guard let (zone, number) = try record(transaction) else { return .done }
        let lives = try transaction.lives(number, user).filter { !$0.isDead }
        _ = try transaction.perform(
            [NamedLives(lives).deletion(of: user)],
            in: scope,
            zone: zone,
            author: Author()
        )
        return .orphaned(zone, recordName: user)
    }
}
