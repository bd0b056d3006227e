// What a participant who sees trees of a zone, and not all of it, is told of its changes.
//
// A fetch leads from the state of the token, a vector and the roots that were seen then, to the
// vector and the roots of its first page. Later pages keep that end, so a record that moves between
// two pages is told by the next fetch. The fetch walks down from the roots that were gained, then
// from the roots that were lost, then through changed records and through what hangs below records
// that came, went or moved. A record is told if it is in a tree at the end and may be read now. A
// record that was in a tree at the token and is not at the end is told as deleted. Nothing is told
// of other records, not even a name. A first fetch is only the walk down: it costs the tree, not
// the zone.
//
// Run by `FetchZoneChanges` for each page, over one snapshot.
//
// Folder: trees of records that are shared. Read `TreeWalk`, then `TreeChanges` with `TreeHistory`
// and `TreeProgress`.

import CumulusModel
import CumulusStorage

struct TreeChanges: Sendable {
    private let fetch: FetchZoneChanges
    private let found: FoundZone
    private let zone: ZoneNumber
    private let caller: Caller
    private let access: AccessReader
    private var reader: ReadTransaction
    /// All changes that the token covers; a whole vector.
    private let base: VersionVector
    private let gained: [ChangeToken.Root]
    private let lost: [ChangeToken.Root]
    private var before: TreeHistory
    /// The state at the end; nil while that is the present state, which is read directly.
    private var end: TreeHistory?
    private var progress: TreeProgress
    /// Where the page ends: behind the last record that it has room for; nil while it has room.
    private var stop: TreeProgress?
    /// Whether something is left to tell that the page has no room for.
    private(set) var isOver = false
    private(set) var records: [RecordView] = []
    private(set) var deletions: [FetchZoneChanges.Page.Deletion] = []
    private var names: Set<String> = []
    private var byteCount = 0
    /// The number of records that this turn looked at.
    private(set) var looks = 0

    /// How many rows of the change index are read at a time.
    private static let chunk = 128
    /// The number of records that one turn looks at, approximately.
    static let mostLooks = 4_096
    /// Bytes of a change besides its fields.
    private static let rowBytes = 128

    /// - Parameters:
    ///   - base: The vector that the token covers, whole.
    ///   - roots: The roots that the caller saw at the token; none without a token.
    ///   - vector: The vector of the state that is read.
    init(
        _ fetch: FetchZoneChanges,
        of found: FoundZone,
        _ zone: ZoneNumber,
        by caller: Caller,
        _ access: AccessReader,
        since base: VersionVector,
        _ roots: [ChangeToken.Root],
        _ progress: TreeProgress,
        _ vector: VersionVector,
        _ reader: ReadTransaction
    ) {
        self.fetch = fetch
        self.found = found
        self.zone = zone
        self.caller = caller
        self.access = access
        self.reader = reader
        self.base = base
        self.progress = progress
        let (skipsGained, skipsLost) = (
            fetch.broken.contains(.gainedRoots), fetch.broken.contains(.lostRoots)
        )
        gained = skipsGained ? [] : progress.roots.filter { !roots.contains($0) }
        lost = skipsLost ? [] : roots.filter { !progress.roots.contains($0) }
        before = TreeHistory(roots, in: zone, at: base)
        let isPresent = vector == progress.end && progress.roots == access.view?.roots ?? []
        end = isPresent ? nil : TreeHistory(progress.roots, in: zone, at: progress.end)
    }

    /// How far the page has come.
    ///
    /// If the page is full, the next page goes on there, and otherwise the next fetch.
    var reached: TreeProgress { isOver ? stop ?? progress : progress }

    /// Looks at as many records as one turn may; returns whether the page is done.
    ///
    /// - Parameter spent: Looks that the same turn took for other zones.
    mutating func turn(
        through vector: VersionVector,
        after spent: Int = 0
    ) throws(EngineError) -> Bool {
        looks = spent
        return try gather(through: vector) || isOver
    }

    /// Whether the turn is over, and the next one goes on here.
    private var mustPause: Bool { looks >= TreeChanges.mostLooks }

    /// Notes where the page ends, if it is full by now; called after each look.
    private mutating func noteEnd() {
        guard stop == nil else { return }
        let isFull = names.count >= fetch.limit.items || byteCount >= fetch.limit.bytes
        if isFull { stop = progress }
    }

    /// Returns whether nothing is left to look at.
    private mutating func gather(through vector: VersionVector) throws(EngineError) -> Bool {
        try mendPath()
        while progress.stage != .changed {
            guard try walk(progress.stage == .gained ? gained : lost) else { return false }
            progress.stage = progress.stage == .gained ? .lost : .changed
            (progress.root, progress.path) = ("", [])
        }
        if !progress.path.isEmpty {
            guard try descend() else { return false }
        }
        if let last = progress.changes.last {
            guard try gather(last.dot.incarnation, through: vector) else { return false }
        }
        for dot in vector.dots where progress.changes.told[dot.incarnation] < dot.seq {
            guard try gather(dot.incarnation, through: vector) else { return false }
        }
        return true
    }

    // MARK: Down the trees

    private mutating func walk(_ roots: [ChangeToken.Root]) throws(EngineError) -> Bool {
        for root in roots where root.name >= progress.root {
            if root.name != progress.root || progress.path.isEmpty {
                (progress.root, progress.path) = (root.name, [])
                if mustPause { return false }
                progress.path = [root.name]
                try look(at: root.name)
                try look(at: root.share)
                if isOver { return false }
                noteEnd()
            }
            guard try descend() else { return false }
        }
        return true
    }

    /// Looks depth first at everything after the end of the path; returns false if the page or the
    /// turn ends before that.
    private mutating func descend() throws(EngineError) -> Bool {
        var after: String?
        if progress.isDone {
            after = progress.path.popLast()
            progress.isDone = false
        }
        while let last = progress.path.last {
            if mustPause {
                if let after {
                    progress.path.append(after)
                    progress.isDone = true
                }
                return false
            }
            if progress.path.count <= TreeWalk.mostLinks,
                let child = try reader.child(of: last, after: after, in: zone)
            {
                after = child
                // This record hangs below itself.
                if progress.path.contains(child) { continue }
                progress.path.append(child)
                after = nil
                try look(at: child)
                if isOver { return false }
                noteEnd()
            } else {
                after = progress.path.removeLast()
            }
        }
        return true
    }

    /// Cuts the path where a record was moved since; what hangs below it is told as moved.
    private mutating func mendPath() throws(EngineError) {
        for index in progress.path.indices.dropFirst() {
            let row = try reader.record(zone, progress.path[index])
            if let row, !row.isDead, row.parent?.name == progress.path[index - 1] { continue }
            progress.path.removeSubrange((index + 1)...)
            progress.isDone = true
            return
        }
    }

    // MARK: What changed

    private mutating func gather(
        _ incarnation: Incarnation,
        through vector: VersionVector
    ) throws(EngineError) -> Bool {
        var isAtEnd = false
        while !isAtEnd {
            let rows = try reader.rows(.index, rest(of: incarnation), limit: TreeChanges.chunk)
            var ahead = 0
            for (index, row) in rows.enumerated() {
                if mustPause { return false }
                if index == ahead {
                    ahead += try reader.readAhead(
                        changes: rows[index...].lazy.map(\.key),
                        of: zone,
                        besides: names,
                        byteCount: byteCount,
                        limit: fetch.limit
                    )
                }
                let (dot, name) = try RowKey.change(row.key)
                progress.changes.told[dot.incarnation] = dot.seq - 1
                progress.changes.last = ChangeProgress.Position(dot: dot, name: name)
                try look(at: name)
                if isOver { return false }
                if !fetch.broken.contains(.movedTrees),
                    try reader.moved(name, in: zone, since: base)
                {
                    progress.path = [name]
                }
                noteEnd()
                guard try descend() else { return false }
            }
            isAtEnd = rows.count < TreeChanges.chunk
        }
        progress.changes.told[incarnation] = vector[incarnation]
        progress.changes.last = nil
        return true
    }

    /// The rows of the change index of an incarnation that were not looked at.
    private func rest(of incarnation: Incarnation) -> KeyRange {
        let told = progress.changes.told[incarnation]
        var range = KeyRange.changes(of: zone, incarnation, above: told)
        if let last = progress.changes.last, last.dot.incarnation == incarnation {
            range.start = RowKey.change(zone, last.dot, last.name).bytes + [0]
        }
        return range
    }

    // MARK: One record

    private mutating func look(at name: String) throws(EngineError) {
        looks += 1
        let reader = reader
        guard !names.contains(name), let row = try reader.record(zone, name) else { return }
        let type = StoredName.shown(row.type)
        let isShare = type == Names.shareType
        let mayRead = row.isDead ? false : try access.reads(name, of: type, reader)
        var isInside = mayRead
        if let was = try end?.holds(name, isShare: isShare, reader) { isInside = was }
        if isInside, mayRead, let view = try view(of: row, named: name) {
            guard hasRoom(for: name) else { return }
            byteCount += view.fields.count
            return records.append(view)
        }
        if isInside, !found.lens.hides(row.type) { return }
        if !fetch.broken.contains(.formerTrees) {
            var mayHold = try before.holds(name, isShare: isShare, reader)
            if !mayHold, !mayRead { mayHold = try isMadeSince(row, named: name) }
            guard mayHold else { return }
        }
        guard hasRoom(for: name) else { return }
        deletions.append(FetchZoneChanges.Page.Deletion(name: name, type: type))
    }

    /// Whether a record can be told on this page; if not, the page is over.
    private mutating func hasRoom(for name: String) -> Bool {
        isOver = isOver || stop != nil
        if isOver { return false }
        names.insert(name)
        byteCount += TreeChanges.rowBytes
        return true
    }

    /// Whether the caller made the record after the token.
    ///
    /// A device holds what it saved, although no fetch told it of that.
    private func isMadeSince(_ row: RecordRow, named name: String) throws(EngineError) -> Bool {
        let lives = row.isDead ? [row] : try reader.livingRows(of: name, in: zone)
        return lives.contains { $0.createdBy == caller.user && !base.covers($0.birth.dot) }
    }

    /// A record as the caller sees it; nil if callers don't see it.
    private func view(
        of row: RecordRow,
        named name: String
    ) throws(EngineError) -> RecordView? {
        let view = try reader.decoding(RowKey.record(zone, name).bytes) {
            () throws(MalformedBytes) in
            try found.showing(fetch.keys) { keys in
                var view = RecordView(row, name: name)
                if let keys { view.fields = row.body.selecting(keys).bytes }
                return view
            }
        }
        return try view.map { view throws(EngineError) in
            try reader.completed(view, in: found, for: caller)
        }
    }
}

extension ReadTransaction {
    /// The first record below another one, or the first after a name; nil after the last one.
    fileprivate func child(
        of parent: String,
        after name: String?,
        in zone: ZoneNumber
    ) throws(EngineError) -> String? {
        var range = KeyRange.backReferences(of: zone, to: parent, .parent)
        if let name {
            let key = RowKey.backReference(zone, target: parent, .parent, child: name, field: "")
            range.start = key.bytes + [0]
        }
        guard let (key, _) = try rows(.index, range, limit: 1).first else { return nil }
        var parts = KeyReader(key)
        _ = try parts.number(ZoneNumber.self)
        _ = try parts.content()
        _ = try parts.number(UInt8.self)
        return try parts.text()
    }
}

extension AccessRights.View {
    /// The roots of the view's trees, sorted by name.
    var roots: [ChangeToken.Root] {
        trees.map { ChangeToken.Root(name: $0.root, birth: $0.birth, share: $0.share) }
    }
}
