// The changes that wait to be sent: an ordered set that holds one change for each item.
//
// Held by `SyncLedger`, once for zones and once for records. Every `add` gets a new revision: a
// change that is added again while an earlier one is sent stays pending.

/// A change of one item: a zone or a record.
protocol PendingChange: Hashable, Sendable {
    associatedtype Item: Hashable & Sendable
    var item: Item { get }
}

struct PendingChanges<Change: PendingChange>: Sendable {
    private struct Entry {
        var change: Change
        var revision: UInt64
    }

    /// The changes in the order in which their items were first added; nil for a removed change.
    private var entries: [Entry?] = []
    private var places: [Change.Item: Int] = [:]
    /// The revision of the last `add`; no change has a higher one.
    private(set) var revision: UInt64 = 0

    /// All changes, in the order in which their items were first added.
    var all: [Change] { entries.compactMap { $0?.change } }

    var isEmpty: Bool { places.isEmpty }

    /// Puts a change in the place of an earlier one of the same item, or at the end.
    ///
    /// Returns false if the same change was pending already.
    mutating func add(_ change: Change) -> Bool {
        revision += 1
        let entry = Entry(change: change, revision: revision)
        guard let place = places[change.item] else {
            places[change.item] = entries.count
            entries.append(entry)
            return true
        }
        let isNew = entries[place]?.change != change
        entries[place] = entry
        return isNew
    }

    /// Removes a change that the app no longer wants; returns false if it was not pending.
    mutating func remove(_ change: Change) -> Bool {
        guard let place = places[change.item], entries[place]?.change == change else {
            return false
        }
        removeEntry(at: place, of: change.item)
        return true
    }

    /// Removes a change that was sent, unless it was added again after that revision.
    ///
    /// Returns false if nothing was removed.
    mutating func settle(_ change: Change, sentAt revision: UInt64) -> Bool {
        guard let place = places[change.item], let entry = entries[place],
            entry.change == change, entry.revision <= revision
        else { return false }
        removeEntry(at: place, of: change.item)
        return true
    }

    private mutating func removeEntry(at place: Int, of item: Change.Item) {
        entries[place] = nil
        places[item] = nil
        if entries.count > 64, places.count * 2 < entries.count { closeGaps() }
    }

    private mutating func closeGaps() {
        entries.removeAll { $0 == nil }
        for (place, entry) in entries.enumerated() {
            if let entry { places[entry.change.item] = place }
        }
    }
}
