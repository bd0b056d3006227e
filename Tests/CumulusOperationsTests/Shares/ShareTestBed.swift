// A zone of one user, and three other users, for tests of sharing.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting

struct ShareTestBed {
    let store: TestStore
    let owner: Caller
    let bob: Caller
    let carol: Caller
    let dave: Caller
    static let zone = "z"

    init(engine: any StorageEngine = MemoryEngine()) throws {
        let store = try TestStore(engine: engine)
        self.store = store
        let callers = try ["owner", "bob", "carol", "dave"].enumerated().map { number, name in
            try store.addUser(name, UInt8(number + 1))
        }
        (owner, bob, carol, dave) = (callers[0], callers[1], callers[2], callers[3])
        try store.modify(ModifyZones(saving: [Self.zone]), by: owner)
    }

    /// A copy of this node as it is now.
    func copied(seed: UInt64) throws -> ShareTestBed {
        ShareTestBed(
            store: try TestStore(copying: store, seed: seed),
            owner: owner,
            bob: bob,
            carol: carol,
            dave: dave
        )
    }

    private init(store: TestStore, owner: Caller, bob: Caller, carol: Caller, dave: Caller) {
        (self.store, self.owner, self.bob) = (store, owner, bob)
        (self.carol, self.dave) = (carol, dave)
    }

    /// Lets both nodes apply what the other one has.
    func exchange(with other: ShareTestBed) throws {
        try store.take(from: other.store)
        try other.store.take(from: store)
    }

    // MARK: Where

    func database(of caller: Caller) -> DatabaseScope { caller == owner ? .private : .shared }

    func zone(of caller: Caller) -> ZoneAddress {
        ZoneAddress(name: Self.zone, owner: caller == owner ? "" : owner.user)
    }

    // MARK: Records

    /// Saves records in one batch; returns the first error, if there is any.
    @discardableResult
    func save(
        _ items: [SaveItem],
        _ policy: SavePolicy = .changedKeys,
        by caller: Caller
    ) throws -> ServiceError.Code? {
        try outcome(of: items, policy, by: caller).codes.first { code in
            code != nil && code != .batchRequestFailed
        } ?? nil
    }

    func outcome(
        of items: [SaveItem],
        _ policy: SavePolicy = .changedKeys,
        by caller: Caller
    ) throws -> ModifyOutcome {
        try store.save(items, in: database(of: caller), policy, by: caller)
    }

    func item(
        _ name: String,
        _ n: Int64 = 1,
        under parent: String? = nil,
        tag: Bytes? = nil,
        by caller: Caller
    ) -> SaveItem {
        SaveItem(name, ["n": .int64(n)], in: zone(of: caller), tag: tag, parent: parent)
    }

    @discardableResult
    func save(
        _ name: String,
        _ n: Int64 = 1,
        under parent: String? = nil,
        by caller: Caller
    ) throws -> ServiceError.Code? {
        try save([item(name, n, under: parent, by: caller)], by: caller)
    }

    @discardableResult
    func delete(_ names: String..., by caller: Caller) throws -> ServiceError.Code? {
        let items = names.map { DeleteItem($0, in: zone(of: caller)) }
        return try store.delete(items, in: database(of: caller), by: caller).codes.first { code in
            code != nil && code != .batchRequestFailed
        } ?? nil
    }

    func fetch(_ name: String, by caller: Caller) throws -> Result<RecordView, ServiceError> {
        try store.fetch(name, in: database(of: caller), zone: zone(of: caller), by: caller)
    }

    /// The code of a fetch; nil if the record is shown.
    func code(_ name: String, by caller: Caller) throws -> ServiceError.Code? {
        switch try fetch(name, by: caller) {
        case .success: nil
        case .failure(let error): error.code
        }
    }

    func names(by caller: Caller) throws -> [String] {
        try store.names(in: database(of: caller), zone: zone(of: caller), by: caller)
    }

    // MARK: Shares

    func member(
        _ caller: Caller,
        _ permission: ShareParticipant.Permission = .readWrite,
        as role: ShareParticipant.Role = .privateUser
    ) -> WantedShare.Member {
        WantedShare.Member(
            id: ParticipantID(user: caller.user),
            name: caller.user,
            role: role,
            permission: permission
        )
    }

    func shareItem(
        _ name: String,
        _ parts: WantedShare?,
        tag: Bytes? = nil,
        by caller: Caller
    ) -> SaveItem {
        var item = SaveItem(name, type: Names.shareType, in: zone(of: caller), tag: tag)
        item.content = item.content.map { content in
            var content = content
            content.share = parts
            return content
        }
        return item
    }

    /// Shares the zone; returns the error's code.
    @discardableResult
    func shareZone(
        with members: [WantedShare.Member] = [],
        _ permission: ShareParticipant.Permission = .none
    ) throws -> ServiceError.Code? {
        let parts = WantedShare(root: nil, publicPermission: permission, members: members)
        return try save([shareItem(Names.zoneShare, parts, by: owner)], by: owner)
    }

    /// Shares a record and what hangs below it, in one batch with the record.
    @discardableResult
    func share(
        _ root: String,
        named name: String? = nil,
        with members: [WantedShare.Member] = [],
        _ permission: ShareParticipant.Permission = .none
    ) throws -> ServiceError.Code? {
        let parts = WantedShare(root: root, publicPermission: permission, members: members)
        let items = [
            item(root, by: owner), shareItem(name ?? "share-\(root)", parts, by: owner),
        ]
        return try save(items, by: owner)
    }

    /// Saves the wanted participants of a share, with the tag that the share has.
    @discardableResult
    func set(
        _ members: [WantedShare.Member],
        _ permission: ShareParticipant.Permission = .none,
        of name: String = Names.zoneShare,
        by caller: Caller? = nil
    ) throws -> ServiceError.Code? {
        let caller = caller ?? owner
        let known = try fetch(name, by: caller).get()
        let parts = WantedShare(
            root: known.sharing?.root,
            publicPermission: permission,
            members: members
        )
        return try save(
            [shareItem(name, parts, tag: known.changeTag, by: caller)],
            by: caller
        )
    }

    func shareID(_ name: String = Names.zoneShare) throws -> ShareID {
        ShareID(bytes: try fetch(name, by: owner).get().sharing?.share ?? [])
    }

    @discardableResult
    func accept(
        _ name: String = Names.zoneShare,
        by caller: Caller
    ) throws -> ServiceError.Code? {
        try accept(shareID(name), by: caller)
    }

    @discardableResult
    func accept(_ share: ShareID, by caller: Caller) throws -> ServiceError.Code? {
        let operation = AcceptShare(share: share)
        switch try store.run(WriteRequest(operation, scope: store.scope, caller: caller)) {
        case .success: return nil
        case .failure(let error): return error.code
        }
    }

    /// Shares the zone with some users, who accept.
    func shareZoneAccepted(with members: [WantedShare.Member], by callers: Caller...) throws {
        try shareZone(with: members)
        for caller in callers { try accept(by: caller) }
    }

    /// Shares a record with some users, who accept.
    func shareAccepted(
        _ root: String,
        with members: [WantedShare.Member],
        by callers: Caller...
    ) throws {
        try share(root, with: members)
        for caller in callers { try accept("share-\(root)", by: caller) }
    }

    /// Leaves a zone.
    @discardableResult
    func leave(by caller: Caller) throws -> ServiceError.Code? {
        let request = ModifyZones(database: .shared, deletes: [.success(zone(of: caller))])
        return try store.modify(request, by: caller).codes[0]
    }

    func metadata(
        of share: ShareID,
        wantsRoot: Bool = false,
        by caller: Caller
    ) throws -> ShareMetadata {
        do {
            return try FetchShareMetadata(share: share, wantsRoot: wantsRoot).run(
                store.scope,
                store.scopeNumber(),
                by: caller,
                in: store.reader
            )
        } catch ReadFailure.service(let error) {
            throw error
        }
    }

    // MARK: Changes

    func changes(
        since token: ChangeToken? = nil,
        limit: Int = 1_000,
        by caller: Caller
    ) throws -> FetchZoneChanges.Page {
        let fetch = FetchZoneChanges(
            database: database(of: caller),
            zone: zone(of: caller),
            since: token,
            keys: nil,
            limit: FetchZoneChanges.PageLimit(items: limit, bytes: 1 << 20)
        )
        do {
            return try fetch.run(
                store.scope,
                store.scopeNumber(),
                by: caller,
                in: store.reader
            )
        } catch ReadFailure.service(let error) {
            throw error
        }
    }

    /// The zones in the shared database of a caller.
    func zones(by caller: Caller) throws -> [ZoneAddress] {
        try ListZones(database: .shared).run(store.scopeNumber(), by: caller, in: store.reader)
            .map { ZoneAddress(name: $0.zone.name, owner: $0.zone.database.owner) }
    }

    /// The code of the error that is thrown; nil if nothing is thrown.
    func refusal(_ work: () throws -> Void) throws -> ServiceError.Code? {
        do {
            try work()
            return nil
        } catch let error as ServiceError {
            return error.code
        } catch ReadFailure.service(let error) {
            return error.code
        }
    }
}

/// A participant's device that follows a zone, and the records that it holds.
struct ShareDevice {
    let caller: Caller
    private(set) var held: Set<String> = []
    private(set) var token: ChangeToken?
    /// The names that were told as deleted although it never held them.
    private(set) var strange: Set<String> = []
    private var known: Set<String> = []

    init(of caller: Caller) { self.caller = caller }

    /// Saves a record and holds it from then on.
    mutating func save(_ name: String, under parent: String, at bed: ShareTestBed) throws {
        guard try bed.save(name, under: parent, by: caller) == nil else { return }
        held.insert(name)
        known.insert(name)
    }

    /// Fetches all pages; begins without a token if the token has expired.
    mutating func follow(
        _ bed: ShareTestBed,
        limit: Int = 1_000,
        between: () throws -> Void = {}
    ) throws {
        var isFirst = true
        repeat {
            if !isFirst { try between() }
            isFirst = false
            do {
                let page = try bed.changes(since: token, limit: limit, by: caller)
                for deletion in page.deletions {
                    held.remove(deletion.name)
                    if !known.contains(deletion.name) { strange.insert(deletion.name) }
                }
                held.formUnion(page.records.map(\.name))
                known.formUnion(held)
                token = try ChangeToken(content: page.token.content)
            } catch let error as ServiceError where error.code == .changeTokenExpired {
                (token, held) = (nil, [])
            }
        } while token?.progress != nil || token == nil
    }
}

/// A suite of tests whose helpers are those in its test bed.
protocol ShareTesting {
    var bed: ShareTestBed { get }
}

extension ShareTesting {
    var store: TestStore { bed.store }
    var owner: Caller { bed.owner }
    var bob: Caller { bed.bob }
    var carol: Caller { bed.carol }
    var dave: Caller { bed.dave }
}
