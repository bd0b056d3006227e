// Which of a zone's records hang in the trees that a participant sees: a walk by the names of
// parents, up to a root.
//
// `RecordAccess` makes one for each call and zone. A chain leads to a root only through records
// that live and are shown. A chain that comes back to itself leads nowhere, and so does one of more
// than 100 links. The walk keeps what it read, so that a page's records under one parent cost one
// read. hot: once per shared record that is shown.

import CumulusModel
import CumulusStorage
import Synchronization

final class TreeWalk: Sendable {
    static let mostLinks = 100

    /// A record on a chain.
    enum Link: Hashable, Sendable {
        /// The chain is broken: the record does not exist, or is not shown.
        case broken
        case below(parent: String?)
    }

    let view: AccessRights.View
    private let zone: ZoneNumber
    private let lens: RecordLens
    private let tops: Set<String>
    private let links = Mutex<[String: Link]>([:])

    init(_ view: AccessRights.View, in zone: ZoneNumber, _ lens: RecordLens) {
        self.view = view
        self.zone = zone
        self.lens = lens
        // If everything is allowed in the zone, trees allow no more.
        tops = view.wholeZone == .readWrite ? [] : Set(view.trees.map(\.root))
    }

    /// The roots that a record hangs below; its own name if it is a root itself.
    ///
    /// - Parameter changed: The link of a record, if the caller has read it, or a batch is about to
    ///   change it; nil means that the link is read here.
    func roots<Reader: RowReader & ~Copyable>(
        above name: String,
        _ reader: borrowing Reader,
        changed: (String) -> Link? = { _ in nil }
    ) throws(EngineError) -> Set<String> {
        guard !tops.isEmpty else { return [] }
        var found: Set<String> = []
        var seen: Set<String> = []
        var next: String? = name
        for _ in 0...TreeWalk.mostLinks {
            if let next, reader.broken.contains(.treeCycles), seen.contains(next) { return tops }
            guard let name = next, seen.insert(name).inserted,
                case .below(let parent) = try link(name, reader, changed)
            else { break }
            if tops.contains(name) { found.insert(name) }
            next = parent
        }
        return found
    }

    /// Whether the chain of a record leads to another record.
    func leads<Reader: RowReader & ~Copyable>(
        from name: String,
        to other: String,
        _ reader: borrowing Reader,
        _ changed: (String) -> Link?
    ) throws(EngineError) -> Bool {
        var next: String? = name
        for _ in 0...TreeWalk.mostLinks {
            guard let name = next else { return false }
            if name == other { return true }
            guard case .below(let parent) = try link(name, reader, changed) else { return false }
            next = parent
        }
        return false
    }

    private func link<Reader: RowReader & ~Copyable>(
        _ name: String,
        _ reader: borrowing Reader,
        _ changed: (String) -> Link?
    ) throws(EngineError) -> Link {
        if let change = changed(name) { return change }
        if let known = links.withLock({ $0[name] }) { return known }
        var link = Link.broken
        let key = RowKey.record(zone, name)
        if let row = try reader.get(key) {
            let view = try reader.decoding(key.bytes) { () throws(MalformedBytes) in
                try RecordView(row: row, name: name, keys: [])
            }
            if let view, !lens.hides(view.type) { link = .below(parent: view.parent) }
            if view == nil, reader.broken.contains(.treeEnds) {
                link = try former(name, reader)
            }
        }
        links.withLock { $0[name] = link }
        return link
    }

    /// Breaks a rule, for tests: the chain goes on as it did before the record was gone.
    private func former<Reader: RowReader & ~Copyable>(
        _ name: String,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Link {
        let events = try reader.hangEvents(of: name, in: zone).filter { !$0.event.isEnd }
        guard let last = events.max(by: { $0.stamp < $1.stamp }),
            case .hung(let parent) = last.event
        else { return .broken }
        return .below(parent: parent)
    }

    /// The names of all records in the trees, with the roots and their shares; nil if there are
    /// more than `limit`.
    func names<Reader: RowReader & ~Copyable>(
        limit: Int,
        _ reader: borrowing Reader
    ) throws(EngineError) -> [String]? {
        var names = Set(view.trees.map(\.share))
        var pending: [String] = []
        for tree in view.trees where names.insert(tree.root).inserted { pending.append(tree.root) }
        while let target = pending.popLast() {
            var pages = ReferrerPages(to: target, born: nil, .parent, in: zone)
            while let children = try pages.next(in: reader) {
                for child in children.map(\.name) where names.insert(child).inserted {
                    guard names.count <= limit else { return nil }
                    pending.append(child)
                }
            }
        }
        return names.sorted()
    }

    /// What the rights on a stored record depend on.
    func facts<Reader: RowReader & ~Copyable>(
        of record: RecordAccess.Record,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Authorisation.SharedFacts {
        let name = record.name
        var facts = Authorisation.SharedFacts(
            name: name,
            type: record.type,
            isRoot: record.isRoot
        )
        if record.type == Names.shareType {
            // A share is seen by everybody who sees its root.
            facts.isRoot = false
            facts.roots = Set(view.trees.filter { $0.share == name }.map(\.root))
        } else {
            facts.roots = try roots(above: name, reader) { $0 == name ? record.link : nil }
        }
        return facts
    }
}
