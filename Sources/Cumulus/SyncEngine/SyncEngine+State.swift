// A sync engine's state as its app sees it: what waits to be sent, and what waits to be fetched.
//
// The app adds changes here, from any thread; the engine is woken and sends them.

public import CumulusModel
import Synchronization

extension SyncEngine {
    /// A change of a record that waits to be sent.
    ///
    /// It names the record only: the engine asks for the record when it sends it.
    public enum PendingRecordZoneChange: Hashable, Sendable {
        /// The record is to be saved.
        case saveRecord(Record.ID)
        /// The record is to be deleted.
        case deleteRecord(Record.ID)
    }

    /// A change of a zone that waits to be sent.
    public enum PendingDatabaseChange: Hashable, Sendable {
        /// The zone is to be made.
        case saveZone(RecordZone)
        /// The zone is to be deleted, with all its records.
        case deleteZone(RecordZone.ID)
    }

    /// The work of a sync engine, and its progress.
    ///
    /// Pending changes are sets: a change that is added twice is sent once, and a later change of
    /// the same record or zone replaces the earlier one. The engine removes what was sent, and what
    /// the server refused for good.
    public final class State: Sendable {
        let machine: Mutex<SyncState>
        let bell = SyncBell()

        init(_ machine: SyncState) {
            self.machine = Mutex(machine)
        }

        /// Records that wait to be saved or deleted, in the order in which they were added.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] {
            machine.withLock { $0.ledger.recordChanges.all }
        }

        /// Zones that wait to be saved or deleted, in the order in which they were added.
        public var pendingDatabaseChanges: [PendingDatabaseChange] {
            machine.withLock { $0.ledger.zoneChanges.all }
        }

        /// Whether the app has changes to send that are not among the pending changes.
        ///
        /// Apps that keep track of their changes themselves use it: the engine asks for batches as
        /// long as this is true. Set it to false when the last change was sent.
        public var hasPendingUntrackedChanges: Bool {
            get { machine.withLock { $0.ledger.hasUntrackedChanges } }
            set { change { $0.setUntrackedChanges(newValue) } }
        }

        /// Zones that changed on the server and were not fetched since.
        public var zoneIDsWithUnfetchedServerChanges: [RecordZone.ID] {
            machine.withLock { $0.ledger.unfetched }
        }

        /// Adds records to save or delete.
        ///
        /// An app that is killed before the next ``Event/stateUpdate(_:)`` has to add them again.
        public func add(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            change { $0.add(changes) }
        }

        /// Removes records that need not be saved or deleted any more.
        public func remove(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            change { $0.remove(changes) }
        }

        /// Adds zones to save or delete.
        ///
        /// To replace a zone by a new one, wait until its deletion was sent before you add the
        /// save. A save that is added earlier replaces the deletion, and the zone keeps its
        /// records.
        ///
        /// An app that is killed before the next ``Event/stateUpdate(_:)`` has to add them again.
        public func add(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            change { $0.add(changes) }
        }

        /// Removes zones that need not be saved or deleted any more.
        public func remove(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            change { $0.remove(changes) }
        }

        /// Changes the state and wakes the engine.
        func change<Result: Sendable>(_ body: (inout SyncState) -> Result) -> Result {
            defer { bell.ring() }
            return machine.withLock { body(&$0) }
        }
    }
}

extension SyncEngine.PendingRecordZoneChange: PendingChange {
    var item: Record.ID {
        switch self {
        case .saveRecord(let id), .deleteRecord(let id): id
        }
    }

    var isDeletion: Bool { if case .deleteRecord = self { true } else { false } }
}

extension SyncEngine.PendingDatabaseChange: PendingChange {
    var item: RecordZone.ID {
        switch self {
        case .saveZone(let zone): zone.zoneID
        case .deleteZone(let id): id
        }
    }

    var isDeletion: Bool { if case .deleteZone = self { true } else { false } }

    /// The same change without the properties that only the server sets.
    var plain: SyncEngine.PendingDatabaseChange {
        isDeletion ? self : .saveZone(RecordZone(zoneID: item))
    }
}
