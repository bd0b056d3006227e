// References between records of a zone, and the index that finds them from their targets' side.
//
// Derived from record rows: `ApplyCommit` keeps the index, deletions read it. Only references that
// matter when their target goes are in it: deleteSelf and parent.

package import CumulusModel

/// One row of the index, seen from the child.
package struct BackReference: Hashable, Sendable {
    package var target: String
    package var kind: BackReferenceKind
    /// Empty for a parent.
    package var field: String
    /// The life that was referred to; nil if the target did not exist then: any life matches.
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

/// A record that refers to another, and the field in which it does.
package struct Referrer: Hashable, Sendable {
    package var name: String
    /// Empty for a parent.
    package var field: String
}

extension RowReader where Self: ~Copyable {
    /// What refers to a life of `target`, in the order of the names; at most `limit`.
    package borrowing func referrers(
        to target: String,
        born birth: Dot?,
        _ kind: BackReferenceKind,
        in zone: ZoneNumber,
        limit: Int = .max
    ) throws(EngineError) -> [Referrer] {
        var found: [Referrer] = []
        let range = KeyRange.backReferences(of: zone, to: target, kind)
        for (key, value) in try rows(.index, range, limit: limit) {
            if let birth, !value.isEmpty {
                var reader = CanonicalReader(value)
                let known = try decoding(key) { () throws(MalformedBytes) in try reader.dot() }
                if known != birth { continue }
            }
            var reader = KeyReader(key)
            _ = try reader.number(ZoneNumber.self)
            _ = try reader.content()
            _ = try reader.number(UInt8.self)
            found.append(Referrer(name: try reader.text(), field: try reader.text()))
        }
        return found
    }
}

extension RowReader where Self: ~Copyable {
    /// Whether something may go with a record.
    package borrowing func owns(
        _ name: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> Bool {
        let range = KeyRange.backReferences(of: zone, to: name, .deleteSelf)
        return try !rows(.index, range, limit: 1).isEmpty
    }
}

extension RecordRow {
    /// This row's entries in the index: of several references from one field to one record, the
    /// first one's.
    package func backReferences() throws(MalformedBytes) -> Set<BackReference> {
        var found: Set<BackReference> = []
        var births = targets[...]
        for entry in body.entries where entry.type?.holdsReferences == true {
            let field = body.name(of: entry)
            var seen: Set<String> = []
            for (element, reference) in try body.references(entry).enumerated() {
                // Both ascend by field and element.
                let next = births.first
                let isHere = next?.field == field && next?.element == element
                let birth = isHere ? births.popFirst()?.birth : nil
                guard reference.action == .deleteSelf,
                    seen.insert(reference.recordName).inserted
                else { continue }
                found.insert(
                    BackReference(
                        target: reference.recordName,
                        kind: .deleteSelf,
                        field: field,
                        birth: birth
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
}
