// Shows stored records as the present schema has them: fields with several types, and dropped types
// and fields.
//
// All code that shows records reads it once per zone; it nearly always changes nothing. Clients
// have to read records again after their look changed: the registers' commits say which clients.

package import CumulusModel

package struct RecordLens: Hashable, Sendable {
    private var mixed = MixedFields()
    private var types = DropCounts()
    /// Dropped fields by the types' stored names.
    private var fields: [String: DropCounts] = [:]
    /// The commits that dropped types or fields.
    private var dots: [Dot] = []

    /// How often types were dropped.
    package var typeDrops: DropCounts { types }

    /// Shows everything as it is stored.
    package init() {}

    private var isPlain: Bool { mixed.isEmpty && types.isEmpty && fields.isEmpty }

    /// Whether types or fields were dropped.
    package var hasDrops: Bool { !types.isEmpty || !fields.isEmpty }

    /// Whether the schema dropped a stored type.
    package func hides(_ type: String) -> Bool {
        types.isEmpty ? false : types.shown(type) == nil
    }

    /// Whether the schema dropped a stored field of a stored type.
    package func hides(_ field: String, of type: String) -> Bool {
        fields[type].map { $0.shown(field) == nil } ?? false
    }

    /// Whether records of a stored type may look different from how they are stored.
    package func changes(_ type: String) -> Bool {
        if isPlain { return false }
        return mixed.concern(type) || fields[type] != nil || types.shown(type) != type
    }

    /// Whether a reader with that vector has seen all records as they look now.
    package func isKnown(to vector: VersionVector) -> Bool {
        mixed.areKnown(to: vector) && dots.allSatisfy { vector.covers($0) }
    }

    /// A whole record as callers see it; nil means its type was dropped.
    package func showing(_ record: RecordView) throws(MalformedBytes) -> RecordView? {
        guard let type = types.shown(record.type) else { return nil }
        var shown = record
        shown.type = type
        shown.fields = showing(try RecordBody(stored: record.fields), of: record.type).bytes
        return shown
    }

    /// Fields of a stored type as callers see them.
    package func showing(_ body: RecordBody, of type: String) -> RecordBody {
        let drops = fields[type] ?? DropCounts()
        var names: Set<String> = []
        var columns: [(name: String, entry: RecordBody.Entry)] = []
        var others: [(name: String, entry: RecordBody.Entry)] = []
        for entry in body.entries {
            let stored = body.name(of: entry)
            guard let name = drops.shown(stored) else { continue }
            if let suffix = entry.type.flatMap({ mixed.suffix(of: stored, holding: $0, in: type) })
            {
                others.append(("\(name)__\(suffix)", entry))
            } else {
                names.insert(name)
                columns.append((name, entry))
            }
        }
        // A field that really has that name hides it.
        columns += others.filter { !names.contains($0.name) }
        columns.sort { precedes(Bytes($0.name.utf8), Bytes($1.name.utf8)) }
        var shown = RecordBody()
        for (name, entry) in columns { shown.append(entry, of: body, named: name) }
        return shown
    }
}

extension RecordLens {
    /// Reads the lens of a scope.
    package init<Reader: RowReader & ~Copyable>(
        of scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) {
        mixed = try MixedFields(of: scope, in: reader)
        types = try reader.typeDrops(scope)
        fields = try reader.fieldDrops(scope)
        for namespace in [SchemaRegister.typeDropNamespace, SchemaRegister.fieldDropNamespace] {
            dots += try reader.registerRows(scope, namespace).map(\.row.stamp.dot)
        }
    }
}

// MARK: - In the writer

extension WriteTransaction {
    /// How the records of a scope look where that differs from how they are stored.
    package mutating func lens(of scope: ScopeNumber) throws(EngineError) -> RecordLens {
        if let known = state.lenses[scope] { return known }
        let lens = try RecordLens(of: scope, in: self)
        state.lenses[scope] = lens
        return lens
    }
}
