// The items of a modify request in one zone, and which of them have failed: what a save still to
// come makes of the records beside it.
//
// Held by `ZoneBatch`, asked by `SavePlanner` for each save, and by `CascadeSurvey` before the
// writer's turn.

import CumulusModel
import CumulusStorage

struct ZoneItems {
    /// An item, by its place among the saves or the deletions of the request.
    enum Item: Hashable {
        case save(Int)
        case delete(Int)
    }

    let request: ModifyRecords
    let zone: ZoneAddress
    let saves: [Int]
    let deletes: [Int]
    private let savesByName: [String: Int]
    private let deletesByName: [String: Int]
    private(set) var failures: [Item: ModifyOutcome.Failure] = [:]

    /// - Parameter answered: Saves that were carried out before.
    init(_ request: ModifyRecords, in zone: ZoneAddress, answered: [Int] = []) {
        self.request = request
        self.zone = zone
        saves = request.saves.indices.filter {
            request.saves[$0].address.zone == zone && !answered.contains($0)
        }
        deletes = request.deletes.indices.filter { request.deletes[$0].address.zone == zone }
        savesByName = Dictionary(
            saves.map { (request.saves[$0].address.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        deletesByName = Dictionary(
            deletes.map { (request.deletes[$0].address.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    // MARK: Failures

    func hasFailed(_ item: Item) -> Bool { failures[item] != nil }

    mutating func fail(_ item: Item, _ failure: ModifyOutcome.Failure) {
        failures[item] = failure
    }

    /// Fails all items that have not failed yet.
    mutating func failRest(_ failure: ModifyOutcome.Failure) {
        for item in saves.map(Item.save) + deletes.map(Item.delete) where !hasFailed(item) {
            fail(item, failure)
        }
    }

    /// Fails the items that could not even be read.
    mutating func noteFaults() {
        for index in saves {
            if case .failure(let error) = request.saves[index].content {
                fail(.save(index), ModifyOutcome.Failure(error))
            }
        }
        for index in deletes {
            if let error = request.deletes[index].fault {
                fail(.delete(index), ModifyOutcome.Failure(error))
            }
        }
    }

    // MARK: What is still to be done

    /// Whether a deletion of the request itself names the record.
    func deletes(_ name: String) -> Bool { deletesByName[name] != nil }

    /// The names that are still to be saved.
    var saving: Set<String> {
        Set(saves.filter { !hasFailed(.save($0)) }.map { request.saves[$0].address.name })
    }

    /// The content that is still to be saved under a name.
    func content(named name: String) -> SaveItem.Content? {
        guard let index = savesByName[name], !hasFailed(.save(index)) else { return nil }
        return try? request.saves[index].content.get()
    }

    /// The names of records that are still to be saved below a parent, by the parent.
    var savedChildren: [String: [String]] {
        var children: [String: [String]] = [:]
        for name in saves.map({ request.saves[$0].address.name }) {
            if let parent = content(named: name)?.parent { children[parent, default: []] += [name] }
        }
        return children
    }

    /// Whether a save takes a child away from its parent.
    func moves(_ child: String, awayFrom parent: String) -> Bool {
        content(named: child)?.parent.map { $0 != parent } ?? false
    }

    /// Whether a referrer still refers to the target once the saves are in.
    func goes(_ child: Referrer, with target: String) throws(EngineError) -> Bool {
        guard let fields = content(named: child.name)?.fields,
            let entry = fields.entry(named: child.field)
        else { return true }
        guard entry.type?.holdsReferences == true else { return false }
        do {
            return try fields.owningReferences(entry).contains { $0.target == target }
        } catch {
            throw .corrupt("a canonical field is damaged: \(error.reason)")
        }
    }
}
