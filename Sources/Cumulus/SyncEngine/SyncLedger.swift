// The lasting state of a sync engine: who is signed in, how far it has fetched, what waits to be
// sent.
//
// Held by `SyncState`; its fetches and sends change it. `State.Serialization` is a copy of it.

import CumulusModel

struct SyncLedger: Sendable {
    struct Zone: Sendable {
        /// The token of the last page that the app has; nil if it has no page.
        var token: ServerChangeToken?
        /// Whether the app may hold records that the token does not cover.
        ///
        /// The token expired, or the app got or saved records before there was a token. The next
        /// fetch lists all records of the zone.
        var isRefetched = false
    }

    /// The revisions of the changes when a request was made: its answer settles no later change.
    struct Revisions: Sendable {
        var zones: UInt64
        var records: UInt64
    }

    /// User record name; nil if nobody is signed in.
    private(set) var user: String?
    private(set) var databaseToken: ServerChangeToken?
    private(set) var zones: [RecordZone.ID: Zone] = [:]
    /// Zones that changed on the server and were not fetched since, in the order of the changes.
    private(set) var unfetched: [RecordZone.ID] = []
    private(set) var zoneChanges = PendingChanges<SyncEngine.PendingDatabaseChange>()
    private(set) var recordChanges = PendingChanges<SyncEngine.PendingRecordZoneChange>()
    private(set) var hasUntrackedChanges = false
    /// Whether the app has yet to be told of this state.
    private(set) var isChanged = false

    /// Whether there is anything to send.
    var hasPendingChanges: Bool {
        !zoneChanges.isEmpty || !recordChanges.isEmpty || hasUntrackedChanges
    }

    /// A copy for the app to keep; the app then has the newest state.
    mutating func told() -> SyncEngine.State.Serialization {
        isChanged = false
        return SyncEngine.State.Serialization(ledger: self)
    }

    // MARK: The account

    /// Notes who is signed in now; nil means nobody.
    ///
    /// Another account's tokens and pending changes are cleared. Returns what the app is told; nil
    /// if it is the same user.
    mutating func signIn(_ name: String?) -> SyncEngine.Event.AccountChange? {
        guard name != user else { return nil }
        let (previous, current) = (user.map(SyncLedger.id), name.map(SyncLedger.id))
        // Changes that were added before anybody was signed in belong to the first user.
        if previous != nil { self = SyncLedger() }
        user = name
        isChanged = true
        return switch (previous, current) {
        case (nil, let current?): .signIn(currentUser: current)
        case (let previous?, nil): .signOut(previousUser: previous)
        case (let previous?, let current?):
            .switchAccounts(previousUser: previous, currentUser: current)
        case (nil, nil): nil
        }
    }

    private static func id(_ name: String) -> Record.ID { Record.ID(recordName: name) }

    // MARK: Fetching

    /// Notes how far the database's changes were fetched; nil begins from the beginning.
    mutating func setDatabaseToken(_ token: ServerChangeToken?) {
        isChanged = isChanged || token != databaseToken
        databaseToken = token
    }

    /// Notes that a zone changed on the server.
    mutating func noteChange(of zone: RecordZone.ID) {
        know(zone)
        guard !unfetched.contains(zone) else { return }
        unfetched.append(zone)
        isChanged = true
    }

    /// Notes that a page of a zone was fetched, and more is coming.
    mutating func setToken(_ token: ServerChangeToken, of zone: RecordZone.ID) {
        zones[zone] = Zone(token: token)
        isChanged = true
    }

    /// Notes that a zone was fetched to its end.
    mutating func finish(_ zone: RecordZone.ID, token: ServerChangeToken) {
        isChanged = isChanged || zones[zone]?.token != token || unfetched.contains(zone)
        zones[zone] = Zone(token: token)
        unfetched.removeAll { $0 == zone }
    }

    /// Makes a zone be fetched from the beginning, because its token expired.
    mutating func restart(_ zone: RecordZone.ID) {
        zones[zone] = Zone(token: nil, isRefetched: true)
        isChanged = true
    }

    /// Skips a zone that was not found when it was fetched; the database's changes will say why.
    mutating func skip(_ zone: RecordZone.ID) {
        unfetched.removeAll { $0 == zone }
        isChanged = true
    }

    /// Forgets a zone that is gone; a later zone with its name is another one.
    mutating func forget(_ zone: RecordZone.ID) {
        zones[zone] = nil
        unfetched.removeAll { $0 == zone }
        isChanged = true
    }

    /// The zones that the app knows and `listed` does not contain, in the order of their names.
    func zones(besides listed: Set<RecordZone.ID>) -> [RecordZone.ID] {
        Set(zones.keys).union(unfetched).subtracting(listed)
            .sorted { ($0.zoneName, $0.ownerName) < ($1.zoneName, $1.ownerName) }
    }

    // MARK: Sending

    var revisions: Revisions {
        Revisions(zones: zoneChanges.revision, records: recordChanges.revision)
    }

    mutating func add(_ change: SyncEngine.PendingDatabaseChange) {
        if zoneChanges.add(change.plain) { isChanged = true }
    }

    mutating func add(_ change: SyncEngine.PendingRecordZoneChange) {
        if recordChanges.add(change) { isChanged = true }
    }

    mutating func remove(_ change: SyncEngine.PendingDatabaseChange) {
        if zoneChanges.remove(change.plain) { isChanged = true }
    }

    mutating func remove(_ change: SyncEngine.PendingRecordZoneChange) {
        if recordChanges.remove(change) { isChanged = true }
    }

    mutating func setUntrackedChanges(_ areThere: Bool) {
        isChanged = isChanged || areThere != hasUntrackedChanges
        hasUntrackedChanges = areThere
    }

    /// Removes a change that was made, or refused for good.
    mutating func settle(_ change: SyncEngine.PendingDatabaseChange, _ revisions: Revisions) {
        if zoneChanges.settle(change, sentAt: revisions.zones) { isChanged = true }
    }

    /// Removes a change that was made, or refused for good.
    mutating func settle(_ change: SyncEngine.PendingRecordZoneChange, _ revisions: Revisions) {
        if recordChanges.settle(change, sentAt: revisions.records) { isChanged = true }
    }

    /// Removes the deletion of a zone that was made, and the pending changes of its records.
    mutating func settleDeletion(of zone: RecordZone.ID, _ revisions: Revisions) {
        settle(.deleteZone(zone), revisions)
        for change in recordChanges.all where change.item.zoneID == zone {
            settle(change, revisions)
        }
        forget(zone)
    }

    /// Notes that the app knows a zone, so that it is told when the zone is gone.
    mutating func know(_ zone: RecordZone.ID) {
        guard zones[zone] == nil, zone.zoneName != Names.defaultZone else { return }
        zones[zone] = Zone()
        isChanged = true
    }

    /// Notes that the app holds records of a zone, or is about to get some.
    ///
    /// If the zone has no token, the next fetch from the beginning says which of them are gone.
    mutating func holdRecords(in zone: RecordZone.ID) {
        know(zone)
        guard let known = zones[zone], known.token == nil, !known.isRefetched else { return }
        zones[zone]?.isRefetched = true
        isChanged = true
    }

    // MARK: Reading back

    /// A ledger that the app kept.
    init(
        user: String?,
        databaseToken: ServerChangeToken?,
        zones: [RecordZone.ID: Zone],
        unfetched: [RecordZone.ID],
        zoneChanges: [SyncEngine.PendingDatabaseChange],
        recordChanges: [SyncEngine.PendingRecordZoneChange],
        hasUntrackedChanges: Bool
    ) {
        self.user = user
        self.databaseToken = databaseToken
        self.zones = zones
        self.unfetched = unfetched
        for change in zoneChanges { _ = self.zoneChanges.add(change) }
        for change in recordChanges { _ = self.recordChanges.add(change) }
        self.hasUntrackedChanges = hasUntrackedChanges
    }

    init() {}
}
