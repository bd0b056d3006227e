// How a migration reads one list of the source to its end: pages, then what had to wait for others,
// then what was deleted.

import Cumulus
import CumulusModel
import CumulusTerminal

extension Migration {
    // MARK: Zones

    /// Takes over which zones there are, and which are gone.
    func takeZones(of database: DatabaseScope) async throws {
        let key = MigrationState.key(caller, database)
        var isAnew = state.databases[key] == nil
        var seen: Set<SourceZone> = []
        while true {
            let request = SourceRequest.databaseChanges(
                of: database,
                token: state.databases[key]
            )
            let page: SourceDatabaseChanges
            do {
                page = try await source.ask(request) { try SourceDatabaseChanges($0) }
            } catch let error as ServiceError
                where error.code == .invalidArguments && !isAnew
            {
                // The token has expired: zones that were deleted since are found by comparing.
                state.databases[key] = nil
                isAnew = true
                continue
            }
            for zone in page.changed.map({ own($0, database) }) {
                seen.insert(zone)
                let lane = MigrationLane(caller: caller, database: database, zone: zone)
                state.lanes[lane, default: MigrationProgress()].isDone = false
            }
            for zone in page.deleted { try await dropZone(own(zone, database), database) }
            state.databases[key] = page.token
            try keep()
            if !page.moreComing { break }
        }
        guard isAnew else { return }
        let known = state.lanes.keys.filter {
            $0.caller == caller && $0.database == database && $0.type == nil
        }
        let gone = known.filter { !seen.contains($0.zone) }
        if gone.count > 1, gone.count * 2 > known.count {
            // Rather a right to read was lost, and a zone goes with all that it holds.
            fail(
                "\(gone.count) of \(known.count) zones are not at the source any more, and none "
                    + "was deleted here: see whether who asks may still read them there",
                "the \(database.name) database"
            )
        } else {
            for lane in gone { try await dropZone(lane.zone, database) }
        }
        try keep()
    }

    /// A private zone has no owner's name: it is the caller's.
    private func own(_ zone: SourceZone, _ database: DatabaseScope) -> SourceZone {
        database == .private ? SourceZone(name: zone.name) : zone
    }

    /// Deletes a zone that is gone at the source; a share that ended takes no records with it.
    private func dropZone(_ zone: SourceZone, _ database: DatabaseScope) async throws {
        let lane = MigrationLane(caller: caller, database: database, zone: zone)
        guard state.lanes[lane] != nil else { return }
        if database == .private {
            let place = try await self.database(of: lane)
            try await target.persisting { () async throws -> Void in
                do {
                    try await place.deleteRecordZone(withID: lane.zoneID)
                } catch let error as ServiceError where error.code == .zoneNotFound {
                    return
                }
            }
        }
        state.lanes[lane] = nil
    }

    /// The database here in which a lane's records are.
    func database(of lane: MigrationLane) async throws -> Database {
        let owner = lane.database == .shared ? lane.zone.owner : caller
        try await needUsers([owner])
        let user = state.users[owner]?.name ?? ""
        let container = try await target.container(of: user) { try noteSession($0, of: user) }
        return container.database(with: lane.database == .public ? .public : .private)
    }

    // MARK: Pages

    func run(_ lane: MigrationLane) async throws {
        var progress = state.lanes[lane] ?? MigrationProgress()
        if lane.type == nil, progress.token == nil { try await makeZone(lane) }
        while !progress.isDone {
            guard let page = try await page(of: lane, &progress) else { continue }
            let deferred = try await apply(page.entries, of: lane)
            progress.take(page, deferring: deferred)
            state.lanes[lane] = progress
            try keep()
            draw()
            if isOver() { return }
        }
        if !progress.deferred.isEmpty {
            try await applyDeferred(progress.deferred, of: lane)
            progress.deferred = []
            reasons = [:]
        }
        if progress.mustSweep {
            try await sweep(lane)
            progress.mustSweep = false
        }
        // A list that ended meanwhile, with its zone, is not kept.
        if state.lanes[lane] != nil { state.lanes[lane] = progress }
        try keep()
    }

    /// The next page; nil after a refusal that was met: then the progress is another one.
    private func page(
        of lane: MigrationLane,
        _ progress: inout MigrationProgress
    ) async throws -> MigrationPage? {
        let request = progress.request(of: lane)
        do {
            return try MigrationPage(try await source.ask(request), of: lane)
        } catch let problem as SourceProblem {
            throw InputProblem("the source's answer about \(lane.text): \(problem.description)")
        } catch let error as SourceRefusalError {
            let refusal = error.refusal
            if refusal.isOfToken, progress.forgetToken(of: lane) { return nil }
            if refusal.isOfToken, progress.since != nil {
                // Without an index of times the whole list is read each round.
                progress.since = nil
                return nil
            }
            progress.isDone = try pass(refusal, of: lane, request)
            return nil
        }
    }

    /// Whether the migration goes on without a list that was refused; else it ends.
    private func pass(
        _ refusal: SourceRefusal,
        of lane: MigrationLane,
        _ request: SourceRequest
    ) throws -> Bool {
        switch refusal.code {
        case "NOT_FOUND" where lane.type != nil: return true
        case "ZONE_NOT_FOUND" where lane.type == nil: return true
        case "BAD_REQUEST" where lane.database == .private && lane.type != nil:
            // Apps with zones of their own have no index for the default zone.
            fail("the default zone can't be listed: \(refusal.reason)", lane.text)
            return true
        default: throw refusal.error(of: "\(request.path) of \(lane.text)")
        }
    }

    private func makeZone(_ lane: MigrationLane) async throws {
        let place = try await database(of: lane)
        _ = try await target.persisting {
            try await place.save(RecordZone(zoneName: lane.zone.name))
        }
        report.zones += 1
    }

    // MARK: What waited

    /// Saves records whose parents came later, as long as that helps, and then shares.
    private func applyDeferred(_ names: [String], of lane: MigrationLane) async throws {
        var waiting = names
        while !waiting.isEmpty {
            var rest: [String] = []
            var shares: [SourceRecord] = []
            for part in waiting.parts(of: SourceRequest.most) {
                let entries = try await lookUp(Array(part), in: lane)
                shares += entries.compactMap(\.record).filter { $0.share != nil }
                rest += try await apply(entries.filter { $0.record?.share == nil }, of: lane)
            }
            if rest.count + shares.count < waiting.count || rest.isEmpty {
                // Parents are saved before what is shared.
                if rest.isEmpty {
                    for share in shares { try await apply(share, of: lane) }
                    return
                }
                waiting = rest + shares.map(\.name)
                continue
            }
            for name in rest {
                let reason = reasons[name] ?? "what it belongs to is not at the source"
                fail(reason, "record '\(name)' of \(lane.text)")
            }
            for share in shares { try await apply(share, of: lane) }
            return
        }
    }

    /// Entries in the order of the names; what is not there is `missing`.
    func lookUp(
        _ names: [String],
        in lane: MigrationLane,
        keys: [String]? = nil
    ) async throws -> [SourceEntry] {
        let request = SourceRequest.lookup(names, in: lane.zone, of: lane.database, keys: keys)
        return try await source.ask(request) {
            try SourceLookup($0, count: names.count, in: lane.zone.name).entries
        }
    }
}

extension MigrationLane {
    /// The zone here, in its owner's private database.
    var zoneID: RecordZone.ID { RecordZone.ID(zoneName: zone.name) }
}

extension Array {
    /// The elements in parts of at most so many.
    func parts(of count: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: self.count, by: count).map {
            self[$0..<Swift.min($0 + count, self.count)]
        }
    }
}
