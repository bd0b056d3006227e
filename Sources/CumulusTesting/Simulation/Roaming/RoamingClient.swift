// A client that fetches changes from one node after the other, page by page, and keeps what it is
// told, as an application does.
//
// Driven by `SimulatedCluster`. At the end of a fetch the client must hold exactly what the node
// shows at that moment. Any difference is a fault, which the checkers report.
//
// Folder: clients that ask one node after the other, and hold what they were told against what the
// nodes show. Read `RoamingClient`, then `RoamingQuery` and `RoamingFeed`.

import CumulusModel
import CumulusOperations
import CumulusStorage

package struct RoamingClient {
    let caller: Caller
    let zone: String
    private var broken: BrokenRules
    /// How far it has fetched the zone.
    private var token: ChangeToken?
    /// The records that it holds: change tag and fields, by name.
    private var records: [String: Bytes] = [:]
    /// The commits in the version of each record that was shown last.
    private var versions: [String: [Dot]] = [:]
    /// The changes that this fetch told, to find repetitions.
    private var told: Set<Told> = []
    /// How far it has fetched the database's zones.
    private var zonesToken: ChangeToken?
    /// The zones that it knows.
    private var zones: Set<String> = []
    /// Broken promises, in words.
    private(set) var faults: [String] = []
    /// How often each kind of event happened.
    private(set) var counts: [String: Int] = [:]

    private struct Told: Hashable {
        var name: String
        var tag: Bytes?
    }

    init(_ user: String, zone: String, breaking broken: BrokenRules) {
        caller = Caller(role: .user(user))
        self.zone = zone
        self.broken = broken
    }

    // MARK: Records

    /// Fetches a page of the zone's changes.
    mutating func fetchRecords(from store: TestStore, limit: Int) throws {
        var fetch = FetchZoneChanges(
            database: .private,
            zone: ZoneAddress(name: zone),
            since: token,
            keys: nil,
            limit: FetchZoneChanges.PageLimit(items: limit, bytes: 4_000)
        )
        fetch.broken = broken
        do {
            let number = try store.scopeNumber()
            let page = try fetch.run(store.scope, number, by: caller, in: store.reader)
            take(page, limit: limit, try store.reader.runs(of: number))
            try compareVersions(of: page, with: store)
            guard token?.progress == nil else { return }
            counts["records", default: 0] += 1
            told = []
            try compareRecords(with: store)
        } catch ReadFailure.service(let error) {
            try note(error, "records")
            if error.code == .serviceUnavailable { return }
            (token, records, told, versions) = (nil, [:], [], [:])
        }
    }

    private mutating func take(_ page: FetchZoneChanges.Page, limit: Int, _ runs: Runs) {
        if let token, !runs.whole(page.token.needed).covers(runs.whole(token.needed)) {
            faults.append("a token of zone '\(zone)' went back")
        }
        if page.records.count + page.deletions.count > limit {
            faults.append("a page of zone '\(zone)' is larger than wanted")
        }
        for record in page.records {
            records[record.name] = record.changeTag + record.fields
            note(record.name, record.changeTag)
        }
        for deletion in page.deletions {
            records[deletion.name] = nil
            note(deletion.name, nil)
        }
        if page.moreComing { counts["pages", default: 0] += 1 }
        token = page.token
    }

    private mutating func note(_ name: String, _ tag: Bytes?) {
        if told.insert(Told(name: name, tag: tag)).inserted { return }
        counts["twice", default: 0] += 1
    }

    /// Finds records whose newer version the client was shown before.
    ///
    /// The node lacks a commit of the version that was shown last.
    private mutating func compareVersions(
        of page: FetchZoneChanges.Page,
        with store: TestStore
    ) throws {
        let vector = try store.vector()
        let number = try store.zoneNumber(ZoneAddress(name: zone), by: caller)
        for name in page.records.map(\.name) + page.deletions.map(\.name) {
            if !(versions[name] ?? []).allSatisfy({ vector.covers($0) }) {
                faults.append("\(caller.user) was shown an older '\(name)' of zone '\(zone)'")
            }
            let row = try number.flatMap { try store.reader.record($0, name) }
            versions[name] = row?.frontier.map(\.dot) ?? []
        }
    }

    private mutating func compareRecords(with store: TestStore) throws {
        var shown: [String: Bytes] = [:]
        for name in try store.names(in: .private, zone: ZoneAddress(name: zone), by: caller) {
            let record = try store.fetch(
                name,
                in: .private,
                zone: ZoneAddress(name: zone),
                by: caller
            ).get()
            shown[name] = record.changeTag + record.fields
        }
        for name in Set(shown.keys).union(records.keys).sorted()
        where shown[name] != records[name] {
            faults.append(
                """
                \(caller.user) holds '\(name)' of zone '\(zone)' as \
                \(records[name]?.hex ?? "none"), the node shows \(shown[name]?.hex ?? "none")
                """
            )
        }
    }

    // MARK: Zones

    /// Fetches a page of the database's changes.
    mutating func fetchZones(from store: TestStore, limit: Int) throws {
        let before = zonesToken
        var fetch = FetchDatabaseChanges(database: .private, since: before, limit: limit)
        fetch.broken = broken
        do {
            let page = try fetch.run(
                store.scope,
                store.scopeNumber(),
                by: caller,
                in: store.reader
            )
            zones.formUnion(page.changed.map(\.name))
            zones.subtract(page.deletions.map(\.zone.name))
            zonesToken = page.token
            guard !page.moreComing else { return }
            counts["zones", default: 0] += 1
            guard before?.progress == nil else { return }
            try compareZones(with: store, page, since: before)
        } catch ReadFailure.service(let error) {
            try note(error, "zones")
            if error.code != .serviceUnavailable { (zonesToken, zones) = (nil, []) }
        }
    }

    private mutating func compareZones(
        with store: TestStore,
        _ page: FetchDatabaseChanges.Page,
        since before: ChangeToken?
    ) throws {
        let found = try ListZones(database: .private)
            .run(store.scopeNumber(), by: caller, in: store.reader)
            .filter { $0.zone.name != Names.defaultZone }
        if zones != Set(found.map(\.zone.name)) {
            faults.append("\(caller.user) knows the zones \(zones.sorted()), there are others")
        }
        for zone in found where !page.changed.contains(ZoneAddress(name: zone.zone.name)) {
            try expectNoChange(of: zone, since: before, in: store)
        }
    }

    /// Checks that a zone that was not told has no changes to tell.
    private mutating func expectNoChange(
        of zone: LocatedZone,
        since before: ChangeToken?,
        in store: TestStore
    ) throws {
        let fetch = FetchZoneChanges(
            database: .private,
            zone: ZoneAddress(name: zone.zone.name),
            since: before.map {
                ChangeToken(
                    scope: $0.scope,
                    subject: .records(of: zone.zone),
                    base: $0.base,
                    seen: $0.base,
                    truncation: HybridTime(0)
                )
            },
            keys: [],
            limit: FetchZoneChanges.PageLimit(items: 1_000, bytes: 1 << 20)
        )
        guard
            let page = try? fetch.run(
                store.scope,
                store.scopeNumber(),
                by: caller,
                in: store.reader
            ), !page.records.isEmpty || !page.deletions.isEmpty
        else { return }
        faults.append("zone '\(zone.zone.name)' of \(caller.user) changed, which was not told")
    }

    // MARK: Errors

    /// Counts an error; an error that no caller should get is a fault.
    private mutating func note(_ error: ServiceError, _ what: String) throws {
        counts["\(what): \(error.code)", default: 0] += 1
        switch error.code {
        case .changeTokenExpired, .zoneNotFound: break
        case .serviceUnavailable where error.reason == .nodeBehind: break
        default: faults.append("a fetch of \(what) failed: \(error)")
        }
    }
}
