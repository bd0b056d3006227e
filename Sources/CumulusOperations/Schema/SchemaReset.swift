// Makes development what production is: its schema becomes production's, all its zones are deleted
// with their records, and users lose the roles that they were given there.
//
// Run by the writer, everything in one batch: who crashes meanwhile has reset nothing. What another
// node saves at the same time goes with the zones that this one knows; a role that it gives at the
// same time stays given. Users, tokens and merge policies stay.

package import CumulusModel
package import CumulusStorage

package struct SchemaReset: ContainerChange {
    package struct Outcome: Hashable, Sendable {
        package var difference: SchemaDifference
        /// How many zones go, default zones that hold records among them.
        package var zones: Int
        /// How many roles are taken away from users.
        package var roles: Int

        var isEmpty: Bool { difference.isEmpty && zones == 0 && roles == 0 }
    }

    /// As apps are told of the zones: it was not they who deleted them.
    static let purged: UInt8 = 1

    private let schemaImport = SchemaImport(.production)

    package init() {}

    /// What would change, or why nothing may.
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
