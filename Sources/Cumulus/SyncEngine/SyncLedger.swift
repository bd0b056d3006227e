// What a sync engine must not forget: who is signed in, how far it has fetched, what waits to be
// sent.
//
// Held by `SyncState`; its runs change it through the verbs here. `State.Serialization` is a copy
// of it.

import CumulusModel

struct SyncLedger: Sendable {
    struct Zone: Sendable {
        /// Of the last page of the zone that the app has; nil means none.
        var token: ServerChangeToken?
        /// The app may hold records that the token does not cover.
        ///
        /// The token expired, or the app got or saved records before there was a token. The next
        /// fetch names all that are there.
        var isRefetched = false
    }

    /// What was pending when something was sent: later changes are not settled by the answer.
    struct Mark: Sendable {
        var zones: UInt64
        var records: UInt64
    }

    /// User record name; nil means nobody was signed in so far.
    private(set) var user: String?
    private(set) var databaseToken: ServerChangeToken?
    private(set) var zones: [RecordZone.ID: Zone] = [:]
    /// Zones that changed on the server and were not fetched since, in the order they were told.
    private(set) var unfetched: [RecordZone.ID] = []
    private(set) var zoneChanges = PendingChanges<SyncEngine.PendingDatabaseChange>()
    private(set) var recordChanges = PendingChanges<SyncEngine.PendingRecordZoneChange>()
    private(set) var hasUntrackedChanges = false
    /// The app has not been told of this state yet.
    private(set) var isChanged = false

    /// Whether there is anything to send.
    var hasPendingChanges: Bool {
        !zoneChanges.isEmpty || !recordChanges.isEmpty || hasUntrackedChanges
    }

    /// A copy for the app to keep, which then has the newest state.
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
        // What was added before anybody was signed in belongs to the first user.
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

    /// Notes how far the database's changes were fetched; nil means from the beginning.
    mutating func setDatabaseToken(_ token: ServerChangeToken?) {
        isChanged = isChanged || token != databaseToken
        databaseToken = token
    }

    /// A zone changed on the server.
    mutating func noteChange(of zone: RecordZone.ID) {
        know(zone)
        guard !unfetched.contains(zone) else { return }
        unfetched.append(zone)
        isChanged = true
    }

    /// A page of a zone was fetched, and more is coming.
    mutating func setToken(_ token: ServerChangeToken, of zone: RecordZone.ID) {
        zones[zone] = Zone(token: token)
        isChanged = true
    }

    /// A zone was fetched to its end.
    mutating func finish(_ zone: RecordZone.ID, token: ServerChangeToken) {
        isChanged = isChanged || zones[zone]?.token != token || unfetched.contains(zone)
        zones[zone] = Zone(token: token)
        unfetched.removeAll { $0 == zone }
    }

    /// A zone's token can't be used any more: it is fetched from the beginning.
    mutating func restart(_ zone: RecordZone.ID) {
        zones[zone] = Zone(token: nil, isRefetched: true)
        isChanged = true
    }

    /// A zone could not be found when it was fetched; the database's changes will say why.
    mutating func skip(_ zone: RecordZone.ID) {
        unfetched.removeAll { $0 == zone }
        isChanged = true
    }

    /// A zone is gone, and a later one of its name is another one.
    mutating func forget(_ zone: RecordZone.ID) {
        zones[zone] = nil
        unfetched.removeAll { $0 == zone }
        isChanged = true
    }

    /// Zones that the app knows and that are not among these, in the order of their names.
    func zones(besides listed: Set<RecordZone.ID>) -> [RecordZone.ID] {
        Set(zones.keys).union(unfetched).subtracting(listed)
            .sorted { ($0.zoneName, $0.ownerName) < ($1.zoneName, $1.ownerName) }
    }

    // MARK: Sending

    var mark: Mark { Mark(zones: zoneChanges.revision, records: recordChanges.revision) }

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

    /// A change was made, or refused for good.
    mutating func settle(_ change: SyncEngine.PendingDatabaseChange, _ mark: Mark) {
        if zoneChanges.settle(change, sentAt: mark.zones) { isChanged = true }
    }

    /// A change was made, or refused for good.
    mutating func settle(_ change: SyncEngine.PendingRecordZoneChange, _ mark: Mark) {
        if recordChanges.settle(change, sentAt: mark.records) { isChanged = true }
    }

    /// This device deleted a zone: what waited for its records is settled too.
    mutating func settleDeletion(of zone: RecordZone.ID, _ mark: Mark) {
        settle(.deleteZone(zone), mark)
        for change in recordChanges.all where change.item.zoneID == zone { settle(change, mark) }
        forget(zone)
    }

    /// The app knows of a zone: it is told when the zone is gone.
    mutating func know(_ zone: RecordZone.ID) {
        guard zones[zone] == nil, zone.zoneName != Names.defaultZone else { return }
        zones[zone] = Zone()
        isChanged = true
    }

    /// The app holds records of a zone, or gets some in a moment.
    ///
    /// Without a token, a later fetch from the beginning says which of them are gone.
    mutating func holdRecords(in zone: RecordZone.ID) {
        know(zone)
        guard let known = zones[zone], known.token == nil, !known.isRefetched else { return }
        zones[zone]?.isRefetched = true
        isChanged = true
    }

    // MARK: Reading back

    /// A ledger as it was written; the app has it.
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
