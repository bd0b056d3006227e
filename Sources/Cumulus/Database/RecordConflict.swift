// Entries of the conflict log, for the command line.

package import CumulusModel
import CumulusWire

/// A lost value: another writer wrote a different one without knowing of it.
package struct RecordConflict: Sendable {
    /// A commit and when it was made.
    package struct Change: Hashable, Sendable {
        package var time: Timestamp
        /// "incarnation:seq", as logs name it.
        package var commit: String

        fileprivate init(_ wire: WireConflict.Change) {
            time = Timestamp(millisecondsSince1970: wire.time)
            commit = Dot(Incarnation(wire.incarnation), wire.seq).description
        }
    }

    /// Names it, on the node that was asked.
    package var id: String
    package var database: DatabaseScope
    /// User record name of a private database's owner.
    package var owner: String
    /// The record's id, with the fields that were lost.
    package var lost: Record
    /// Empty: the record as a whole.
    package var field: String
    package var winner: Change
    package var loser: Change
    /// The fields are private to the database's owner.
    package var isWithheld: Bool

    private init?(_ wire: WireConflict) {
        guard let database = DatabaseScope(rawValue: UInt8(clamping: wire.database)),
            let lost = wire.lostRecord
        else { return nil }
        id = wire.id.hex
        self.database = database
        owner = wire.owner
        self.lost = lost
        field = wire.field
        winner = Change(wire.winner)
        loser = Change(wire.loser)
        isWithheld = wire.isWithheld
    }

    /// Reads the conflicts that a caller sees, newest first, until `visit` returns false.
    fileprivate static func read(
        _ core: ClientCore,
        _ header: CallHeader,
        _ visit: (RecordConflict) throws -> Bool
    ) async throws {
        let stream = try await PageStream.open(core, header, [])
        while let message = try await stream.next() {
            let page = try decoding { try ListConflictsResponse(wire: message).elements }
            for wire in page {
                guard var conflict = RecordConflict(wire) else { continue }
                conflict.lost = core.keyring.opening(conflict.lost)
                if try !visit(conflict) { return }
            }
        }
    }
}

extension NodeOperator {
    /// All conflicts of a container that this node met; values of private databases are withheld.
    package func conflicts(
        of container: String,
        _ environment: Environment,
        _ visit: (RecordConflict) throws -> Bool
    ) async throws {
        var header = CallHeader(.recordsListConflicts)
        header.container = Bytes(container.utf8)
        header.environment = UInt32(environment.rawValue)
        try await RecordConflict.read(core, header, visit)
    }
}

extension Container {
    /// Conflicts of the signed-in user's private database that the node met.
    package func conflicts(_ visit: (RecordConflict) throws -> Bool) async throws {
        try await RecordConflict.read(core, CallHeader(.recordsListConflicts), visit)
    }
}
