// Saves and deletes records: what one request means, zone by zone.
//
// Run by the writer. Each zone's part becomes at most one commit: all of its items or none if the
// zone is atomic, item by item in other zones. hot: once per save; the work per zone is in
// `ZoneBatch`.
//
// Folder: what requests about records mean. Read `ModifyRecords`, then `FetchRecords` and
// `ListRecords`.

package import CumulusModel
package import CumulusStorage

package enum SavePolicy: Sendable {
    case ifUnchanged
    case changedKeys
    case allKeys
    /// The same for a caller who must also have the right to READ what it saves over, as if it had
    /// looked first. Only callers in this process ask for it.
    case overReadable
}

/// One record to save, checked and made canonical before it was queued.
package struct SaveItem: Sendable {
    package struct Content: Sendable {
        package var type: String
        /// The tag of the version that the caller changed; nil if the caller has none.
        package var changeTag: Bytes?
        /// Fields without a value are removed.
        package var fields: RecordBody
        /// The number of deleteSelf references in the fields.
        package let ownerCount: Int
        /// The increments, sorted by field, each field once.
        package var increments: [Commit.Increment]
        /// The name of the parent; nil leaves it unchanged, an empty name removes it.
        package var parent: String?
        /// The participants of a share; nil leaves them as they are.
        package var share: WantedShare?

        package init(
            type: String,
            changeTag: Bytes? = nil,
            fields: RecordBody,
            increments: [Commit.Increment] = [],
            parent: String? = nil,
            share: WantedShare? = nil
        ) {
            self.type = type
            self.changeTag = changeTag
            self.fields = fields
            // Fields that can't be read count as none; the writer refuses them.
            ownerCount = (try? fields.ownerCount()) ?? 0
            self.increments = increments
            self.parent = parent
            self.share = share
        }

        /// The names to which the fields refer with deleteSelf.
        fileprivate func owners() throws(MalformedBytes) -> [String] {
            if ownerCount == 0 { return [] }
            var names: [String] = []
            for entry in fields.entries where entry.type?.holdsReferences == true {
                names += try fields.owningReferences(entry).map(\.target)
            }
            return names
        }

        /// The content with the stored names of the type and its fields.
        func stored(as schema: TypeSchema) -> Content {
            var content = self
            content.type = schema.name
            content.fields = fields.renaming(schema.fieldDrops.stored)
            content.increments = increments.map { increment in
                let field = schema.fieldDrops.stored(increment.field)
                return Commit.Increment(field: field, delta: increment.delta)
            }
            return content
        }
    }

    package var address: RecordAddress
    /// What is saved; an error if the item can't be saved.
    package var content: Result<Content, ServiceError>

    package init(address: RecordAddress, content: Result<Content, ServiceError>) {
        self.address = address
        self.content = content
    }
}

package struct DeleteItem: Sendable {
    package var address: RecordAddress
    /// The tag that the record must have to be deleted; nil if its tag doesn't matter.
    package var changeTag: Bytes?
    /// Why the item can't name a record; nil if it can.
    package var fault: ServiceError?

    package init(address: RecordAddress, changeTag: Bytes? = nil, fault: ServiceError? = nil) {
        self.address = address
        self.changeTag = changeTag
        self.fault = fault
    }
}

package struct ModifyRecords: RememberedChange {
    package var database: DatabaseScope
    package var policy: SavePolicy
    /// Whether all items are done or none; honoured if the zone is atomic.
    package var isAtomic: Bool
    package var saves: [SaveItem]
    package var deletes: [DeleteItem]
    package var limits: Limits

    package init(
        database: DatabaseScope,
        policy: SavePolicy = .ifUnchanged,
        isAtomic: Bool = true,
        saves: [SaveItem] = [],
        deletes: [DeleteItem] = [],
        limits: Limits = .standard
    ) {
        self.database = database
        self.policy = policy
        self.isAtomic = isAtomic
        self.saves = saves
        self.deletes = deletes
        self.limits = limits
    }

    package var onlyDeletes: Bool { saves.isEmpty }

    /// Whether the request was carried out either completely or not at all: it has a single item,
    /// or is for one atomic zone.
    package var isAllOrNothing: Bool {
        if saves.count + deletes.count == 1 { return true }
        guard isAtomic, zones.count == 1 else { return false }
        // A shared zone is in its owner's private database.
        let kind = database == .shared ? .private : database
        let capabilities = Zones.capabilities(of: zones[0].name, in: kind)
        return RecordZone.Capabilities(rawValue: capabilities).contains(.atomic)
    }

    /// How much its caller may add to the schema; nil means no limit but the schema's own.
    var allowance: (any SchemaAllowance)?

    /// The same request, of a caller who may add only so much to the schema.
    package func growingSchema(within allowance: (any SchemaAllowance)?) -> ModifyRecords {
        var request = self
        request.allowance = allowance
        return request
    }

    /// The findings about long cascades; nil if nobody looked.
    package var survey: CascadeSurvey.Findings?
    /// The findings about the records that it refers to; nil if nobody looked.
    package var targets: TargetSurvey?
    /// The findings about shares in the zones that it shares; nil if nobody looked.
    package var shares: ShareSurvey?

    /// Whether the writer found that it would take too long to read the records it refers to.
    package private(set) var hasLargeTargets = false

    /// The same request, to be looked up first, as the writer asks with `needsTargets`.
    package func lookingUpTargets() -> ModifyRecords {
        var request = self
        (request.targets, request.hasLargeTargets) = (nil, true)
        return request
    }

    /// Whether it refers to more records, or to larger ones, than the writer looks up itself.
    package var needsTargets: Bool {
        targets == nil && (hasLargeTargets || ownerCount > TargetSurvey.fewReferences)
    }

    /// Whether it shares a zone as a whole, which requires that no record in it is shared.
    package var needsShares: Bool { shares == nil && !zonesToShare.isEmpty }

    /// Whether something must be looked up before its turn in the writer.
    package var needsSurvey: Bool { needsTargets || needsShares }

    package enum Outcome: Sendable {
        case modified(ModifyOutcome)
        /// Nothing was done: a deletion takes so much along that `CascadeSurvey` must look through
        /// it first, or what the request needs was not looked up.
        case needsSurvey
        /// Nothing was done: the records that its saves refer to are so large that `TargetSurvey`
        /// must read them first.
        case needsTargets
    }

    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Outcome, ServiceError> {
        let (caller, requestID) = (asker.caller, asker.requestID)
        let database: DatabaseID
        do {
            database = try Authorisation.database(self.database, for: caller)
            try checkRequest()
        } catch {
            return .failure(error)
        }
        if needsSurvey { return .success(.needsSurvey) }
        var outcome = ModifyOutcome(saves: saves.count, deletes: deletes.count)
        var request = self
        try request.takeStoredNames(scope, in: &transaction)
        for address in zones {
            let found = try transaction.find(address, in: database, of: scope, by: caller)
            guard let found else {
                fail(address, &outcome)
                continue
            }
            if let number = found.number {
                try transaction.readAhead(request.keys(of: address, as: number))
            }
            var answered: [Int] = []
            if let requestID {
                let repeated = RepeatedSaves(
                    request: request,
                    requestID: requestID,
                    scope: scope,
                    caller: caller
                )
                let known = try repeated.answer(in: found, at: address, &transaction, &outcome)
                guard let known else { continue }
                answered = known
            }
            let items = ZoneItems(request, in: address, answered: answered)
            var batch = ZoneBatch(items, in: found, of: scope, for: asker)
            switch try batch.run(in: &transaction, &outcome) {
            case .done: break
            case .needsSurvey: return .success(.needsSurvey)
            case .needsTargets: return .success(.needsTargets)
            case .readsTooMuch:
                return .failure(.changesTooMuch(limit: transaction.state.storedBytesPerRequest))
            }
        }
        if let refusal = outcome.refusal { return .failure(refusal) }
        outcome.limitServerRecords(to: limits.answerBytes)
        return .success(.modified(outcome))
    }

    /// The rows of a request with one item; with several, they are read when its turn comes.
    package func likelyRows(
        for asker: Asker,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [RowKey] {
        guard saves.count + deletes.count == 1, database != .shared,
            let address = saves.first?.address ?? deletes.first?.address,
            let database = try? Authorisation.database(self.database, for: asker.caller),
            let scope = try transaction.scope(asker.scope),
            let number = try transaction.database(scope, database),
            let zone = try transaction.zone(number, address.zone.name)
        else { return [] }
        let record = RowKey.record(zone.number, address.name)
        guard let requestID = asker.requestID else { return [record] }
        return [record, .request(requestID, scope, asker.caller.user)]
    }

    /// Fails all items in a zone that does not exist.
    func fail(_ zone: ZoneAddress, _ outcome: inout ModifyOutcome) {
        let failure = ModifyOutcome.Failure(.zoneNotFound(zone, in: database))
        for index in saves.indices where saves[index].address.zone == zone {
            outcome.saves[index] = .failure(failure)
        }
        for index in deletes.indices where deletes[index].address.zone == zone {
            outcome.deletes[index] = .failure(failure)
        }
    }

    private mutating func takeStoredNames(
        _ scope: ScopeNumber,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        for index in saves.indices {
            guard case .success(let content) = saves[index].content else { continue }
            let schema = try transaction.schema(scope, content.type)
            guard schema.renames(content.type) else { continue }
            saves[index].content = .success(content.stored(as: schema))
        }
    }

    /// The zones of the request, in the order in which they are first named.
    var zones: [ZoneAddress] {
        let count = saves.count + deletes.count
        if count == 1 { return [saves.first?.address.zone ?? deletes[0].address.zone] }
        var seen: Set<ZoneAddress> = []
        let all = saves.map(\.address.zone) + deletes.map(\.address.zone)
        return all.filter { seen.insert($0).inserted }
    }

    /// The zones for which it makes a share; a save without a tag makes a record.
    var zonesToShare: [ZoneAddress] {
        guard database == .private else { return [] }
        return saves.compactMap { save in
            guard save.address.name == Names.zoneShare, case .success(let content) = save.content,
                content.changeTag == nil
            else { return nil }
            return save.address.zone
        }
    }

    /// The keys of the records in a zone that it names.
    private func keys(of address: ZoneAddress, as zone: ZoneNumber) -> [RowKey] {
        // One record alone is read when it is asked for.
        if saves.count + deletes.count == 1, !refers(in: address) { return [] }
        let deleted = deletes.map(\.address).filter { $0.zone == address }.map(\.name)
        let saved = saves.map(\.address).filter { $0.zone == address }.map(\.name)
        let others = targets == nil ? targetNames(in: address) : []
        return (saved + deleted + others).map { .record(zone, $0) }
    }

    /// The number of deleteSelf references in all saves.
    private var ownerCount: Int {
        var count = 0
        for save in saves {
            if case .success(let content) = save.content { count += content.ownerCount }
        }
        return count
    }

    /// The names to which saves in a zone refer with deleteSelf, and the names of their parents.
    func targetNames(in zone: ZoneAddress) -> [String] {
        var names: [String] = []
        for save in saves where save.address.zone == zone {
            guard case .success(let content) = save.content else { continue }
            names += (try? content.owners()) ?? []
            if let parent = content.parent, !parent.isEmpty { names.append(parent) }
        }
        return names
    }

    /// Whether saves in a zone have deleteSelf references or parents.
    func refers(in zone: ZoneAddress) -> Bool {
        saves.contains { save in
            guard save.address.zone == zone, case .success(let content) = save.content else {
                return false
            }
            return content.ownerCount > 0 || content.parent?.isEmpty == false
        }
    }

    /// Whether the request has read more bytes of records than one request may change.
    ///
    /// A single item may be of any size: there is nothing to divide.
    func readsTooMuch(in transaction: borrowing WriteTransaction) -> Bool {
        saves.count + deletes.count > 1 && transaction.hasReadTooMuch
    }

    /// Throws if the saves have more deleteSelf references than one request may have.
    package func checkOwners() throws(ServiceError) {
        let (count, limit) = (ownerCount, limits.ownersPerRequest)
        guard count > limit else { return }
        throw ServiceError(
            .limitExceeded,
            .tooManyItems,
            """
            Your request contains \(count) references with deleteSelf, which is more than the \
            maximum number in a single request (\(limit)); send it in parts
            """
        )
    }

    private func checkRequest() throws(ServiceError) {
        let count = saves.count + deletes.count
        guard count <= limits.itemsPerRequest else {
            throw .tooManyItems(count, limit: limits.itemsPerRequest)
        }
        try checkOwners()
        guard count > 1 else { return }
        var seen: Set<RecordAddress> = []
        for address in saves.map(\.address) + deletes.map(\.address) {
            guard seen.insert(address).inserted else {
                throw ServiceError(
                    .invalidArguments,
                    .invalidValue,
                    "record '\(address.name)' occurs twice in the request; name each record once"
                )
            }
        }
    }
}

// MARK: - Remembering

extension ModifyRecords {
    package static func items(of outcome: Outcome) -> ModifyOutcome? {
        if case .modified(let items) = outcome { items } else { nil }
    }

    package static func outcome(_ items: ModifyOutcome) -> Outcome { .modified(items) }

    package func items(
        of done: DoneElsewhere,
        for asker: Asker,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ModifyOutcome {
        try done.outcome(of: self, transaction)
    }

    package static func limitShown(
        _ outcome: inout Outcome,
        to room: inout Int,
        _ admits: (Int) -> Bool
    ) {
        guard case .modified(var items) = outcome else { return }
        let shown = items.limitServerRecords(to: room)
        if shown > 0 {
            if admits(shown) { room -= shown } else { items.limitServerRecords(to: 0) }
        }
        outcome = .modified(items)
    }
}
