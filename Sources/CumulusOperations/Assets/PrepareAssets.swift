// Makes assets known in the caller's database before their chunks are sent: checks their sizes, and
// says which chunks are missing.
//
// Run by the writer. Repeating it is harmless: it keeps the asset for another day and tells what is
// missing now, which is how an interrupted upload goes on. In the public database and in another
// user's, a chunk is missing if the caller neither sent it nor may read it: see `AssetClaims`.
//
// Folder: what requests about assets mean, and which assets may go. Read `PrepareAssets`, then
// `AssetClaims`, `EnterChunks`, `ReadAsset` and `AssetCollection`.

package import CumulusAssets
package import CumulusModel
package import CumulusStorage

package struct PrepareAssets: ContainerChange {
    package var database: DatabaseScope
    /// The zone that the assets are for; set in the shared database only.
    package var zone: ZoneAddress?
    /// The list of chunks of each asset, or why it can't be a list.
    package var lists: [Result<ChunkList, ServiceError>]
    package var limits: Limits

    package init(
        database: DatabaseScope,
        zone: ZoneAddress? = nil,
        lists: [Result<ChunkList, ServiceError>],
        limits: Limits
    ) {
        self.database = database
        self.zone = zone
        self.lists = lists
        self.limits = limits
    }

    /// For each asset, the indexes of the chunks that are missing.
    package typealias Outcome = [Result<[Int], ModifyOutcome.Failure>]

    /// Divides the request; each part looks at no more chunks than `limit`, or at one asset.
    package func parts(of limit: Int) -> [PrepareAssets] {
        var parts: [PrepareAssets] = []
        var room = 0
        for list in lists {
            let count = (try? list.get().count) ?? 0
            if parts.isEmpty || count > room {
                parts.append(
                    PrepareAssets(database: database, zone: zone, lists: [], limits: limits)
                )
                room = limit
            }
            parts[parts.count - 1].lists.append(list)
            room -= count
        }
        return parts
    }

    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Outcome, ServiceError> {
        let caller = asker.caller
        let place: AssetPlace
        do throws(ServiceError) { try checkCount() } catch { return .failure(error) }
        switch try transaction.assetPlace(in: database, zone, of: scope, by: caller) {
        case .success(let found): place = found
        case .failure(let error): return .failure(error)
        }
        let number = try transaction.makeDatabase(scope, place.database)
        var claims: AssetClaims?
        if place.needsClaims {
            claims = AssetClaims(number, of: scope, by: caller, in: place.shared)
        }
        var outcome: Outcome = []
        for list in lists {
            switch list {
            case .failure(let error): outcome.append(.failure(ModifyOutcome.Failure(error)))
            case .success(let list):
                if let refusal = try refusal(
                    of: list,
                    by: caller,
                    in: number,
                    &claims,
                    &transaction
                ) {
                    outcome.append(.failure(ModifyOutcome.Failure(refusal)))
                } else {
                    let missing = try enter(list, by: caller, in: number, &claims, &transaction)
                    outcome.append(.success(missing))
                }
            }
        }
        return .success(outcome)
    }

    private func enter(
        _ list: ChunkList,
        by caller: Caller,
        in database: DatabaseNumber,
        _ claims: inout AssetClaims?,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [Int] {
        guard let missing = try claims?.prepare(list, in: &transaction) else {
            return try DatabaseAssets(of: database).enter(list, by: caller.user, &transaction)
        }
        return missing
    }

    package func checkCount() throws(ServiceError) {
        guard lists.count <= limits.assetsPerRequest else {
            throw .tooManyItems(lists.count, limit: limits.assetsPerRequest)
        }
    }

    private func refusal(
        of list: ChunkList,
        by caller: Caller,
        in database: DatabaseNumber,
        _ claims: inout AssetClaims?,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        guard list.size <= limits.assetBytes else {
            return ServiceError(
                .limitExceeded,
                .tooLarge,
                "the asset has \(list.size) bytes; the limit is \(limits.assetBytes)"
            )
        }
        if let isCounted = try claims?.isCounted(list.digest, in: &transaction) {
            if isCounted { return nil }
        } else if try transaction.asset(list.digest, in: database) != nil {
            return nil
        }
        let quota = limits.quota(of: self.database == .public ? .public : .private)
        if quota > 0 {
            let used = try transaction.knownUsage(of: database).total
            let size = Int(clamping: list.size)
            if used.addingReportingOverflow(size).overflow || used + size > quota {
                return .quotaExceeded(self.database, used, of: quota, by: size)
            }
        }
        let usage: AssetUsageRow? = try transaction.row(.assetUsage(database, caller.user))
        let taken = usage?.bytes ?? 0
        guard taken + list.size <= limits.userAssetBytes else {
            return ServiceError(
                .quotaExceeded,
                """
                your assets take \(taken) of \(limits.userAssetBytes) bytes here, which leaves no \
                room for \(list.size) more; remove some, their space is free \
                \(limits.assetGraceMilliseconds / 1_000) seconds later
                """
            )
        }
        return nil
    }
}
