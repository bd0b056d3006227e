// The database that takes a caller's assets; for another user's database also the zone, which is
// shared with the caller for writing.
//
// `PrepareAssets` and `EnterChunks` find it before they look at anything.

package import CumulusModel
package import CumulusStorage

package struct AssetPlace: Sendable {
    package let database: DatabaseID
    /// The zone of another user; nil in the caller's own database and in the public one.
    let shared: FoundZone?

    /// Whether the caller needs claims: outside its own database, a digest must be no key.
    var needsClaims: Bool { database.kind == .public || shared != nil }
}

extension RowReader where Self: ~Copyable {
    /// Where assets go that are sent to a database, or why they can't be sent.
    ///
    /// - Parameter zone: The zone of the records that will name them; needed in the shared
    ///   database.
    package borrowing func assetPlace(
        in kind: DatabaseScope,
        _ zone: ZoneAddress?,
        of scope: ScopeNumber,
        by caller: Caller
    ) throws(EngineError) -> Result<AssetPlace, ServiceError> {
        let id: DatabaseID
        do throws(ServiceError) {
            id = try Authorisation.database(kind, for: caller)
            if let refusal = Authorisation.uploadRefusal(in: id, by: caller) { throw refusal }
        } catch {
            return .failure(error)
        }
        guard kind == .shared else { return .success(AssetPlace(database: id, shared: nil)) }
        guard let zone else { return .failure(.assetZoneNeeded) }
        guard let found = try find(zone, in: id, of: scope, by: caller),
            let view = found.rights.view
        else { return .failure(.zoneNotFound(zone, in: kind)) }
        if let refusal = Authorisation.uploadRefusal(view) { return .failure(refusal) }
        return .success(AssetPlace(database: found.zone.database, shared: found))
    }
}

extension ServiceError {
    fileprivate static let assetZoneNeeded = ServiceError(
        .invalidArguments,
        .invalidValue,
        "assets of the shared database need the zone that they are for; name it with its owner"
    )
}
