// Makes development what production is: its schema becomes production's, and all its zones are
// deleted with their records.
//
// Run by the writer, everything in one batch: who crashes meanwhile has reset nothing. What another
// node saves at the same time goes with the zones that this one knows; users, tokens and merge
// policies stay.

package import CumulusModel
package import CumulusStorage

package struct SchemaReset: Sendable {
    package struct Outcome: Hashable, Sendable {
        package var difference: SchemaDifference
        /// How many zones go, default zones that hold records among them.
        package var zones: Int
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
        let zones = try reader.scope(scope).map { (number) throws(EngineError) in
            try reader.zones(of: number).count
        }
        return try schemaImport.plan(for: scope, reader)
            .map { Outcome(difference: $0, zones: zones ?? 0) }
    }

    func run(
        for scope: ScopeID,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Outcome, ServiceError> {
        let outcome = try schemaImport.run(for: scope, in: &transaction)
        guard case .success(let difference) = outcome, let number = try transaction.scope(scope)
        else { return outcome.map { Outcome(difference: $0, zones: 0) } }
        let zones = try transaction.zones(of: number)
        for zone in zones {
            _ = try transaction.perform(
                [.zoneDelete(reason: SchemaReset.purged)],
                in: number,
                zone: zone,
                author: Author()
            )
        }
        return .success(Outcome(difference: difference, zones: zones.count))
    }
}
