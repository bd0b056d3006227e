// Makes development equal to production: it gets production's schema, all its zones are deleted
// with their records, and users lose the roles that they were given there.
//
// Run by the writer, everything in one batch: a node that crashes meanwhile has reset nothing. What
// another node saves at the same time is deleted with the zones that this node knows; a role that
// it gives at the same time stays given. Users, tokens and merge policies stay.
// same time stays given. Users, tokens and merge policies stay.

package import CumulusModel
package import CumulusStorage

package struct SchemaReset: ContainerChange {
    package struct Outcome: Hashable, Sendable {
        package var difference: SchemaDifference
        /// The number of zones that are deleted, including default zones that hold records.
        package var zones: Int
        /// The number of roles that are taken away from users.
        package var roles: Int

        var isEmpty: Bool { difference.isEmpty && zones == 0 && roles == 0 }
    }

    /// The reason that apps are told for the deletion of zones: they were purged.
    static let purged: UInt8 = 1

    private let schemaImport = SchemaImport(.production)

    package init() {}

    /// What would change, or why nothing may change.
    package func plan<Reader: RowReader & ~Copyable>(
        for scope: ScopeID,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Result<Outcome, ServiceError> {
        var (zones, roles) = (0, 0)
        if let number = try reader.scope(scope) {
            zones = try reader.zones(of: number).count
            roles = try reader.roleAssignments(in: number).count(where: \.assignment.isGiven)
        }
        return try schemaImport.plan(for: scope, reader)
            .map { Outcome(difference: $0, zones: zones, roles: roles) }
    }

    package static var isOperators: Bool { true }

    package func keeps(_ outcome: Outcome) -> Bool { !outcome.isEmpty }

    package func run(
        for asker: Asker,
        in number: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Outcome, ServiceError> {
        let difference: SchemaDifference
        switch try schemaImport.run(for: asker, in: number, &transaction) {
        case .failure(let error): return .failure(error)
        case .success(let changed): difference = changed
        }
        let zones = try transaction.zones(of: number)
        for zone in zones {
            _ = try transaction.perform(
                [.zoneDelete(reason: SchemaReset.purged)],
                in: number,
                zone: zone,
                author: Author()
            )
        }
        let roles = try AssignedRoles.takeAll(in: number, &transaction)
        return .success(Outcome(difference: difference, zones: zones.count, roles: roles))
    }
}
