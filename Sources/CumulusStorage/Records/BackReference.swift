// References between records of a zone, and the index that finds the referring records of a target.
//
// `ApplyCommit` derives the index from record rows; deletions read it. It holds only references
// that matter when their target is deleted: deleteSelf and parent.

package import CumulusModel

/// One row of the index, seen from the child.
package struct BackReference: Hashable, Sendable {
    package var target: String
    package var kind: BackReferenceKind
    /// Empty for a parent.
    package var field: String
    /// The life that was referred to; nil if the target did not exist then, and any life matches.
    package var birth: Dot?

    package func key(in zone: ZoneNumber, child: String) -> RowKey {
        .backReference(zone, target: target, kind, child: child, field: field)
    }

    package var value: Bytes {
        guard let birth else { return [] }
        var writer = CanonicalWriter()
        writer.dot(birth)
        return writer.bytes
    }
}

/// A record that refers to another, and the field that does.
package struct Referrer: Hashable, Sendable {
    package var name: String
    /// Empty for a parent.
    package var field: String
}

extension RowReader where Self: ~Copyable {
    /// The records that refer to a life of `target`, ordered by name.
    ///
    /// - Parameter births: Births of the life; nil means any life.
    package borrowing func referrers(
        to target: String,
        born births: [Dot]?,
        _ kind: BackReferenceKind,
        in zone: ZoneNumber
    ) throws(EngineError) -> [Referrer] {
        var pages = ReferrerPages(to: target, born: births, kind, in: zone, size: .max)
        return try pages.next(in: self) ?? []
    }
}

/// The records that refer to a record, ordered by name, in pages: the writer's turn may not have
/// room for all.
package struct ReferrerPages {
    private var range: KeyRange
    private let births: [Dot]?
    private let size: Int
    private var isAtEnd = false

    /// - Parameter births: Births of the life that is referred to; nil means any life.
    package init(
        to target: String,
        born births: [Dot]?,
        _ kind: BackReferenceKind,
        in zone: ZoneNumber,
        size: Int = 32
    ) {
        range = KeyRange.backReferences(of: zone, to: target, kind)
        self.births = births
        self.size = size
    }

    /// The next page, which may be empty; nil after the last one.
    package mutating func next<Reader: RowReader & ~Copyable>(
        in reader: borrowing Reader
    ) throws(EngineError) -> [Referrer]? {
        if isAtEnd { return nil }
        let rows = try reader.rows(.index, range, limit: size)
        isAtEnd = rows.count < size
        if let last = rows.last { range.start = last.key + [0] }
        var page: [Referrer] = []
        for (key, value) in rows {
            if let births, !value.isEmpty {
                var bytes = CanonicalReader(value)
                let known = try reader.decoding(key) { () throws(MalformedBytes) in
                    try bytes.dot()
                }
                if !births.contains(known) { continue }
            }
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            _ = try parts.content()
            _ = try parts.number(UInt8.self)
            page.append(Referrer(name: try parts.text(), field: try parts.text()))
        }
        return page
    }
}

extension RowReader where Self: ~Copyable {
    /// Whether a record owns others, which are deleted with it.
    package borrowing func owns(
        _ name: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> Bool {
        try countOwned(by: name, in: zone, limit: 1) > 0
    }

    /// Counts the deleteSelf references to a record, up to `limit`.
    package borrowing func countOwned(
        by name: String,
        in zone: ZoneNumber,
        limit: Int
    ) throws(EngineError) -> Int {
        let range = KeyRange.backReferences(of: zone, to: name, .deleteSelf)
        return try rows(.index, range, limit: limit).count
    }
}

extension RecordRow {
    /// Whether this row has the same references as another one, and so the same entries.
    func refersLike(_ other: RecordRow) -> Bool {
        guard parent == other.parent, targets == other.targets else { return false }
        return body.referenceFields == other.body.referenceFields
    }

    /// This row's entries in the index.
    ///
    /// If one field has several references to one record, only the first is entered.
    package func backReferences() throws(MalformedBytes) -> Set<BackReference> {
        var found: Set<BackReference> = []
        var births = targets[...]
        for entry in body.entries where entry.type?.holdsReferences == true {
            let field = body.name(of: entry)
            var seen: Set<String> = []
            for reference in try body.owningReferences(entry) {
                // Both lists ascend by field and element.
                births = births.drop {
                    ($0.field, $0.element) < (field, reference.element)
                }
                let next = births.first
                let isHere = next?.field == field && next?.element == reference.element
                guard seen.insert(reference.target).inserted else { continue }
                found.insert(
                    BackReference(
                        target: reference.target,
                        kind: .deleteSelf,
                        field: field,
                        birth: isHere ? next?.birth : nil
                    )
                )
            }
        }
        if let parent, let name = parent.name {
            found.insert(
                BackReference(target: name, kind: .parent, field: "", birth: parent.birth)
            )
        }
        return found
    }
}

extension FieldType {
    package var holdsReferences: Bool {
        self == .one(.reference) || self == .list(.reference)
    }
}

extension RecordBody {
    /// The references of a REFERENCE or LIST<REFERENCE> field.
    package func references(_ entry: Entry) throws(MalformedBytes) -> [Record.Reference] {
        var reader = CanonicalReader(bytes, entry.value)
        guard entry.type == .list(.reference) else {
            return [try Record.Reference(reading: &reader)]
        }
        var references: [Record.Reference] = []
        while try reader.nextField() != nil {
            var element = try reader.message()
            references.append(try Record.Reference(reading: &element))
        }
        return references
    }

    /// The bytes of the fields that hold references.
    fileprivate var referenceFields: [ArraySlice<UInt8>] {
        entries.filter { $0.type?.holdsReferences == true }.map { bytes[$0.whole] }
    }

    /// A reference with deleteSelf.
    package struct OwningReference: Hashable, Sendable {
        /// Index in a list; 0 in a single reference.
        package var element: Int
        package var target: String
    }

    /// The deleteSelf references of a REFERENCE or LIST<REFERENCE> field.
    ///
    /// Other references, which a request may have by the hundred thousand, are not decoded.
    package func owningReferences(
        _ entry: Entry
    ) throws(MalformedBytes) -> [OwningReference] {
        var found: [OwningReference] = []
        try visitOwners(entry) { (element, name) throws(MalformedBytes) in
            guard let target = String(utf8: bytes[name]) else {
                throw MalformedBytes("a text is not UTF-8")
            }
            found.append(OwningReference(element: element, target: target))
        }
        return found
    }

    /// How many deleteSelf references all fields have.
    package func ownerCount() throws(MalformedBytes) -> Int {
        var count = 0
        for entry in entries where entry.type?.holdsReferences == true {
            try visitOwners(entry) { _, _ in count += 1 }
        }
        return count
    }

    /// Visits the ranges of the names to which a field refers with deleteSelf.
    private func visitOwners(
        _ entry: Entry,
        _ visit: (_ element: Int, _ name: Range<Int>) throws(MalformedBytes) -> Void
    ) throws(MalformedBytes) {
        var reader = CanonicalReader(bytes, entry.value)
        guard entry.type == .list(.reference) else {
            if let name = try RecordBody.owner(of: &reader) { try visit(0, name) }
            return
        }
        var element = 0
        while try reader.nextField() != nil {
            var reference = try reader.message()
            if let name = try RecordBody.owner(of: &reference) { try visit(element, name) }
            element += 1
        }
    }

    /// The range of the name in a deleteSelf reference; nil for a reference without an action.
    private static func owner(
        of reference: inout CanonicalReader
    ) throws(MalformedBytes) -> Range<Int>? {
        var name = reference.end..<reference.end
        var isOwner = false
        while let (number, type) = try reference.nextField() {
            switch (number, type) {
            case (1, .delimited): name = try reference.delimited()
            case (2, .varint): isOwner = try reference.varint() == 1
            default: throw MalformedBytes("a reference holds something unknown")
            }
        }
        return isOwner ? name : nil
    }
}
