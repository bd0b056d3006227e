// A random history of two devices of one user: edits, faults, crashes; then quiet, and a verdict.
//
// Every step of an engine, every answer on its way and every act of a user is a turn of its own,
// and between any two of them a device may crash. It starts again from what its app keeps. The
// notes of zone K are never deleted: no edit of them may be lost. Zone V and its notes come and go.

import CumulusModel
import CumulusWire
import Foundation
import Testing

@testable import Cumulus

struct SyncHistory {
    /// A flaw that is made on purpose: the verdict must show it.
    enum Flaw: CaseIterable {
        case losesPending
        case keepsStateEarly
        case leavesConflicts
        case leavesRefetches
    }

    struct Device {
        var app: NotesApp
        var state: SyncState
        var order = EventOrder()
        /// What the last step will be answered with.
        var answer: SyncState.Answer?
    }

    private static let kept = RecordZone.ID(zoneName: "K")
    private static let volatile = RecordZone.ID(zoneName: "V")
    private static let passing: [ServiceError.Code] = [
        .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
        .requestRateLimited, .serviceUnavailable, .zoneBusy, .operationCancelled,
        .serverResponseLost,
    ]

    private var dice: SeededGenerator
    private let flaw: Flaw?
    private var server = ModelServer()
    private var devices: [Device] = []
    private var now = Instant(milliseconds: 1_000)
    private var edits: [Record.ID: Set<Int>] = [:]
    private var lastEdit = 0
    private var isQuiet = false
    /// How often what is rare happened.
    private(set) var counts: [String: Int] = [:]
    private(set) var violations: [String] = []

    init(seed: UInt64, _ flaw: Flaw? = nil) {
        dice = SeededGenerator(seed: seed)
        self.flaw = flaw
        for number in 0..<2 {
            var app = NotesApp(device: number, zones: [SyncHistory.kept, SyncHistory.volatile])
            if flaw == .leavesConflicts { app.neglect = .conflicts }
            if flaw == .leavesRefetches { app.neglect = .refetches }
            let state = app.start()
            devices.append(Device(app: app, state: state))
        }
    }

    mutating func run(turns: Int = 600) {
        for _ in 0..<turns {
            now = now + Int64.random(in: 0...400, using: &dice)
            let number = Int.random(in: 0..<devices.count, using: &dice)
            switch Int.random(in: 0..<100, using: &dice) {
            case 0..<8: act(number)
            case 8..<10: crash(number)
            case 10..<12: devices[number].state.hear()
            default: step(number)
            }
        }
        settle()
        judge()
    }

    private mutating func draws(_ chance: Int) -> Bool {
        Int.random(in: 0..<100, using: &dice) < chance
    }

    // MARK: Users

    private mutating func act(_ number: Int) {
        var device = devices[number]
        let name = Int.random(in: 0..<4, using: &dice)
        let keeper = Record.ID(recordName: "k\(name)", zoneID: SyncHistory.kept)
        let id = Record.ID(recordName: "v\(name)", zoneID: SyncHistory.volatile)
        let other = Record.ID(recordName: "v\((name + 1) % 4)", zoneID: SyncHistory.volatile)
        let hasVolatile = device.app.zones.contains(SyncHistory.volatile)
        let deletion = SyncEngine.PendingDatabaseChange.deleteZone(SyncHistory.volatile)
        lastEdit += 1
        switch Int.random(in: 0..<16, using: &dice) {
        case 0..<7:
            device.app.edit(keeper, lastEdit, &device.state)
            edits[keeper, default: []].insert(lastEdit)
        case 7: device.app.rename(keeper, &device.state)
        case 8..<11 where hasVolatile: device.app.edit(id, lastEdit, &device.state)
        case 11 where device.app.notes[id] != nil: device.app.rename(id, &device.state)
        case 12 where device.app.notes[id] != nil: device.app.delete(id, &device.state)
        case 13 where device.app.notes[id] != nil: device.app.move(id, to: other, &device.state)
        case 14 where hasVolatile: device.app.delete(SyncHistory.volatile, &device.state)
        // A zone that is made again before its deletion is sent is not deleted at all.
        case 15 where !device.state.ledger.zoneChanges.all.contains(deletion):
            device.app.make(SyncHistory.volatile, &device.state)
        default: break
        }
        devices[number] = device
    }

    private mutating func crash(_ number: Int) {
        counts["crash", default: 0] += 1
        var device = devices[number]
        switch flaw {
        case .losesPending: device.app.keep(withoutPending(device.app.kept))
        case .keepsStateEarly:
            var ledger = device.state.ledger
            device.app.keep(ledger.told())
        default: break
        }
        // What an app keeps is text.
        if let kept = device.app.kept { device.app.reread(kept) }
        device.state = device.app.start()
        device.answer = nil
        device.order = EventOrder()
        devices[number] = device
    }

    private func withoutPending(
        _ kept: SyncEngine.State.Serialization?
    ) -> SyncEngine.State.Serialization? {
        guard var ledger = kept?.ledger else { return nil }
        for change in ledger.recordChanges.all { ledger.remove(change) }
        return ledger.told()
    }

    // MARK: Engines

    /// One step of an engine, or the arrival of what it waits for.
    ///
    /// Returns false if there is nothing to do.
    @discardableResult
    private mutating func step(_ number: Int) -> Bool {
        var device = devices[number]
        defer { devices[number] = device }
        if let answer = device.answer {
            device.answer = nil
            device.state.receive(answer)
            return true
        }
        let roll = dice.next()
        switch device.state.next(now: now, dice: { roll }) {
        case .deliver(let event):
            device.order.note(event)
            if case .didFetchRecordZoneChanges(let fetch) = event, fetch.error == nil {
                counts["zone fetched", default: 0] += 1
            }
            if case .willFetchRecordZoneChanges(let fetch) = event, fetch.isRefetch {
                counts["refetch", default: 0] += 1
            }
            // A crash may come after this step: then the event was not handled.
            if !isQuiet, draws(1) {
                devices[number] = device
                crash(number)
                device = devices[number]
            } else {
                device.app.handle(event, &device.state)
            }
        case .chooseOptions(let context): device.answer = .options(options(context))
        case .chooseBatch(let context):
            let isAtomic = draws(30)
            device.answer = .batch(
                device.app.batch(context, atomically: isAtomic, &device.state)
            )
        case .call(let call):
            device.order.note(call)
            #expect(!device.state.ledger.isChanged, "the app is told before a call")
            device.answer = perform(call)
        case .finish: break
        case .wait(let time):
            guard isQuiet, let time, time > now else { return false }
            now = time
        }
        return true
    }

    private mutating func options(
        _ context: SyncEngine.FetchChangesContext
    ) -> SyncEngine.FetchChangesOptions {
        guard !isQuiet, draws(20) else { return context.options }
        return .init(scope: .zoneIDs([SyncHistory.volatile]))
    }

    private mutating func perform(_ call: SyncState.Call) -> SyncState.Answer {
        guard !isQuiet else { return server.answer(call) }
        let code = SyncHistory.passing.randomElement(using: &dice) ?? .zoneBusy
        var error = ServiceError(code, "it passes")
        if draws(30) { error.retryAfterMilliseconds = 700 }
        server.itemLimit = draws(20) ? Int.random(in: 1...2, using: &dice) : 400
        server.pageSize = Int.random(in: 1...3, using: &dice)
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<8: return .failed(error)
        case 8..<16:
            counts["lost answer", default: 0] += 1
            _ = server.answer(call)
            return .failed(ServiceError(.serverResponseLost, "the answer was lost"))
        case 16..<19:
            counts["expiry", default: 0] += 1
            server.expireTokens()
        case 19..<30: refuse(call, error)
        default: break
        }
        return server.answer(call)
    }

    /// Some of the records are refused.
    private mutating func refuse(_ call: SyncState.Call, _ error: ServiceError) {
        guard case .modifyRecords(let batch) = call else { return }
        let full = ServiceError(.quotaExceeded, "there is no room")
        for id in batch.recordsToSave.map(\.recordID) + batch.recordIDsToDelete
        where draws(50) {
            server.refusals[id] = draws(50) ? error : full
        }
    }

    // MARK: The end

    private mutating func settle() {
        isQuiet = true
        server.itemLimit = 400
        server.refusals = [:]
        for _ in 0..<40 {
            let before = server.position
            for number in devices.indices {
                var device = devices[number]
                device.app.saveRefused(&device.state)
                device.state.hear()
                devices[number] = device
                var steps = 0
                while step(number) {
                    steps += 1
                    if steps == 20_000 {
                        violations.append("device \(number) does not come to rest")
                        return
                    }
                }
            }
            let isFull = devices.contains { !$0.app.refused.isEmpty }
            if server.position == before, !isFull { return }
        }
        violations.append("the devices never agree")
    }

    private mutating func judge() {
        for (number, device) in devices.enumerated() {
            let ledger = device.state.ledger
            if !ledger.zoneChanges.isEmpty || !ledger.recordChanges.isEmpty {
                violations.append("device \(number) has not sent all")
            }
            // A zone that was told just before a crash may stay, without notes.
            if !device.app.zones.isSuperset(of: server.zones.keys) {
                violations.append("device \(number) has zones \(device.app.zones)")
            }
            var expected: [Record.ID: Record] = [:]
            for record in server.zones.values.flatMap(\.records.values) {
                expected[record.recordID] = record
            }
            for id in Set(expected.keys).union(device.app.notes.keys) {
                let (note, record) = (device.app.notes[id], expected[id])
                if note != record.map(NotesApp.Note.init) {
                    violations.append("device \(number): \(id.recordName) differs")
                } else if device.app.tag(id) != record?.recordChangeTag {
                    violations.append("device \(number): tag of \(id.recordName) differs")
                }
            }
            for (id, edits) in edits where device.app.notes[id]?.edits != edits {
                violations.append("device \(number): edits of \(id.recordName) are lost")
            }
        }
    }
}
