// The outcome of a history's commits, worked out from their stamps alone: which lives stand in the
// end, and what each of them says.
//
// Used by the checker of that name, which compares it with a node. It knows no order of arrival, no
// rows and no merges: per field the latest word counts, increments add up, of the creations by one
// request the earliest counts, and what some commit ended is gone.

import CumulusModel
import CumulusStorage

struct Outcome {
    /// The content of a life.
    struct Standing: Equatable {
        /// Fields as a record's body has them.
        var fields: [String: Bytes] = [:]
        var parent = ""
        /// The earliest creation.
        var born = Stamp.zero
    }

    private struct Write {
        let stamp: Stamp
        let request: RequestID?
        let put: Commit.Put
    }

    /// A field as it was said last.
    private struct Word {
        let stamp: Stamp
        /// Empty: it was removed.
        let bytes: Bytes
        /// The base to which increments are added.
        let base: Int64
        let isNumber: Bool
    }

    /// The sum of the increments of a field.
    private struct Sum {
        var value: Int64 = 0
        var latest = Stamp.zero
    }

    private struct Increment: Hashable {
        let request: RequestID
        let field: String
    }

    private var writes: [Life: [Write]] = [:]
    private let history: LifeHistory
    /// The last generation of a zone that was deleted; by a place without generation and name.
    private var deleted: [RecordRow.Place: UInt64] = [:]

    init(_ commits: some Sequence<Commit>, known: [Dot: VersionVector]) {
        history = LifeHistory(commits, known: known)
        for commit in commits { add(commit) }
    }

    private mutating func add(_ commit: Commit) {
        guard let zone = commit.zone else { return }
        for operation in commit.operations {
            switch operation {
            case .put(let put):
                let life = history.lives.life(of: put, in: commit, zone)
                guard history.counts(commit.stamp.dot, in: life) else { continue }
                let request = RequestID(commit.requestID)
                writes[life, default: []]
                    .append(Write(stamp: commit.stamp, request: request, put: put))
            case .zoneDelete:
                let place = Outcome.zone(of: zone.place(of: ""))
                deleted[place] = max(deleted[place] ?? 0, zone.generation)
            case .delete, .zoneCreate, .register, .access: break
            }
        }
    }

    private static func zone(of place: RecordRow.Place) -> RecordRow.Place {
        var zone = place
        (zone.generation, zone.name) = (0, "")
        return zone
    }

    // MARK: What stands

    /// The differences of a node that has all commits.
    func differences(
        from records: [(place: RecordRow.Place, row: RecordRow)]
    ) throws -> [String] {
        var shown: [Life: Standing] = [:]
        for (place, row) in records where !row.isDead {
            // Two rows of one life would be one too many.
            let life = history.lives.life(place, of: row)
            shown[life] = shown[life] == nil ? Standing(row) : Standing()
        }
        let expected = try standing()
        let lives = Set(shown.keys).union(expected.keys)
        return lives.filter { shown[$0] != expected[$0] }.map { life in
            "'\(life.place.name)' of \(life.origin) is \(Outcome.text(shown[life])), "
                + "and its commits say \(Outcome.text(expected[life]))"
        }.sorted()
    }

    private static func text(_ standing: Standing?) -> String {
        guard let standing else { return "gone" }
        let fields = standing.fields.sorted { $0.key < $1.key }.map { "\($0): \($1.hex)" }
        return "[\(fields.joined(separator: ", "))] under '\(standing.parent)'"
    }

    func standing() throws -> [Life: Standing] {
        var standing: [Life: Standing] = [:]
        for (life, writes) in writes where writes.contains(where: { $0.put.birth == nil }) {
            let end = deleted[Outcome.zone(of: life.place)] ?? 0
            guard life.place.generation > end else { continue }
            standing[life] = try Outcome.sum(of: writes, isBlind: life.isBlind)
        }
        return standing
    }

    private static func sum(of writes: [Write], isBlind: Bool) throws -> Standing {
        let creations = writes.filter { $0.put.birth == nil }.map(\.stamp).sorted()
        let void = isBlind ? [] : creations.dropFirst()
        let says = writes.filter { !void.contains($0.stamp) }
        let floor = says.filter(\.put.isFull).map(\.stamp).max() ?? .zero
        var words: [String: Word] = [:]
        var standing = Standing(born: creations.first ?? .zero)
        for write in says.sorted(by: { $0.stamp < $1.stamp }) where write.stamp >= floor {
            for (name, word) in try self.words(of: write) { words[name] = word }
            if let parent = write.put.parent { standing.parent = parent.recordName }
        }
        let sums = sums(of: writes)
        for name in Set(words.keys).union(sums.keys) {
            let bytes = shown(name, words[name], sums[name])
            if !bytes.isEmpty { standing.fields[name] = bytes }
        }
        return standing
    }

    private static func words(of write: Write) throws -> [(String, Word)] {
        let put = write.put
        return try put.fields.entries.map { entry in
            let name = put.fields.name(of: entry)
            let number = entry.type == nil ? nil : try put.fields.int64(entry)
            let base = number ?? put.resetCounters.first { $0.field == name }?.delta ?? 0
            let word = Word(
                stamp: write.stamp,
                bytes: entry.type == nil ? [] : Bytes(put.fields.bytes[entry.whole]),
                base: base,
                isNumber: number != nil
            )
            return (name, word)
        }
    }

    /// Each increment counts once, whichever nodes were asked for it.
    private static func sums(of writes: [Write]) -> [String: Sum] {
        var sums: [String: Sum] = [:]
        var counted: Set<Increment> = []
        for write in writes {
            for increment in write.put.increments {
                var sum = sums[increment.field] ?? Sum()
                sum.latest = max(sum.latest, write.stamp)
                let isNew =
                    write.request.map {
                        counted.insert(Increment(request: $0, field: increment.field)).inserted
                    } ?? true
                if isNew { sum.value &+= increment.delta }
                sums[increment.field] = sum
            }
        }
        return sums
    }

    /// A field's bytes; none: it isn't there.
    private static func shown(_ name: String, _ word: Word?, _ sum: Sum?) -> Bytes {
        guard let sum else { return word?.bytes ?? [] }
        if let word, word.bytes.isEmpty, word.stamp > sum.latest { return [] }
        if let word, !word.bytes.isEmpty, !word.isNumber { return word.bytes }
        var body = RecordBody()
        body.append(name, int64: (word?.base ?? 0) &+ sum.value)
        return body.bytes
    }
}

extension Outcome.Standing {
    fileprivate init(_ row: RecordRow) {
        for entry in row.body.entries {
            fields[row.body.name(of: entry)] = Bytes(row.body.bytes[entry.whole])
        }
        parent = row.parent?.name ?? ""
        born = row.birth
    }
}
