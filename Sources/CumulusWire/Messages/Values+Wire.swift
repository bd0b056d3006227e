// Identifiers and field values between Swift and the wire.
//
// `records.proto`. The client writes what it saves and reads what it fetched; the node reads
// identifiers, and copies fields as they are stored. hot: once per field of a fetched record.

package import CumulusModel

// MARK: - Identifiers

/// A zone as a caller names it; not yet checked.
package struct WireZoneID: Coded, Hashable {
    package var name: Bytes = []
    /// Empty: the caller.
    package var owner: Bytes = []

    package init() {}

    package init(name: Bytes, owner: Bytes) {
        self.name = name
        self.owner = owner
    }

    package init(_ id: RecordZone.ID) {
        name = Bytes(id.zoneName.utf8)
        owner = id.ownerName == Names.currentUser ? [] : Bytes(id.ownerName.utf8)
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &name)
        try coder.bytes(2, &owner)
    }

    /// The client's form.
    ///
    /// An owner that is left out is the current user.
    package var id: RecordZone.ID {
        RecordZone.ID(
            zoneName: String(decoding: name, as: UTF8.self),
            ownerName: owner.isEmpty ? Names.currentUser : String(decoding: owner, as: UTF8.self)
        )
    }
}

/// A record as a caller names it; not yet checked.
package struct WireRecordID: Coded, Hashable {
    package var name: Bytes = []
    /// nil means the default zone.
    package var zone: WireZoneID?

    package init() {}

    package init(name: Bytes, zone: WireZoneID?) {
        self.name = name
        self.zone = zone
    }

    package init(_ id: Record.ID) {
        name = Bytes(id.recordName.utf8)
        zone = id.zoneID == .default ? nil : WireZoneID(id.zoneID)
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &name)
        try coder.message(2, &zone)
    }

    package var id: Record.ID {
        Record.ID(
            recordName: String(decoding: name, as: UTF8.self),
            zoneID: zone?.id ?? .default
        )
    }
}

// MARK: - Fields

/// `Field`: a name, and at most one value.
package struct WireRecordField: Coded, Hashable {
    package var name = ""
    /// nil for a field without a value, with a sealed one, or with one of a kind that this release
    /// doesn't know.
    package var value: FieldValue?
    package var sealed: SealedValue?

    package init() {}

    package init(_ name: String, _ value: FieldValue?) {
        self.name = name
        self.value = value
    }

    package init(_ name: String, sealed: SealedValue) {
        self.name = name
        self.sealed = sealed
    }

    private static let list = 10
    private static let encrypted = 11

    /// The field number of its value.
    private var number: Int? {
        if sealed != nil { return WireRecordField.encrypted }
        return value.map { $0.kind.map { Int($0.rawValue) } ?? WireRecordField.list }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &name)
        switch try coder.choice(2...WireRecordField.encrypted, number) {
        case WireRecordField.list:
            var list = WireList(value?.list ?? [])
            try coder.member(WireRecordField.list, &list)
            value = .list(list.elements)
        case WireRecordField.encrypted:
            var sealed = sealed ?? SealedValue()
            try coder.member(WireRecordField.encrypted, &sealed)
            self.sealed = sealed
        case let number?:
            guard let kind = FieldKind(number: number) else { return }
            var element = value ?? .int64(0)
            try element.code(as: kind, &coder)
            value = element
        case nil: break
        }
    }
}

extension SealedValue: Coded {
    package init() { self.init(kind: nil, isList: false, bytes: []) }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        var number = UInt32(kind?.rawValue ?? 0)
        try coder.number(1, &number)
        kind = FieldKind(number: Int(number))
        try coder.flag(2, &isList)
        try coder.bytes(3, &bytes)
    }
}

// MARK: - Values

extension FieldValue {
    /// The value that was written as a member of `Field`; nil if that can't be read.
    package init?(encoded bytes: Bytes) {
        let field = try? WireRecordField(tolerant: bytes, growth: 128)
        guard let value = field?.value else { return nil }
        self = value
    }

    /// Writes the value as a member of `Field`.
    package func encode(to writer: inout CanonicalWriter) {
        WireRecordField("", self).write(to: &writer)
    }

    /// nil for a list.
    fileprivate var kind: FieldKind? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .timestamp: .timestamp
        case .bytes: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list: nil
        }
    }

    /// One value, in the field of its kind.
    fileprivate mutating func code(
        as kind: FieldKind,
        _ coder: inout some Coder
    ) throws(MalformedBytes) {
        let field = Int(kind.rawValue)
        switch kind {
        case .string:
            var text = string ?? ""
            try coder.member(field, &text)
            self = .string(text)
        case .int64:
            var number = int64 ?? 0
            try coder.member(field, &number)
            self = .int64(number)
        case .double:
            var number = double ?? 0
            try coder.member(field, &number)
            self = .double(number)
        case .timestamp:
            var time = timestamp?.millisecondsSince1970 ?? 0
            try coder.member(field, &time)
            self = .timestamp(Timestamp(millisecondsSince1970: time))
        case .bytes:
            var content = bytes ?? []
            try coder.member(field, &content)
            self = .bytes(content)
        case .location:
            var place = location ?? Location()
            try coder.member(field, &place)
            self = .location(place)
        case .reference:
            var reference = reference ?? Record.Reference()
            try coder.member(field, &reference)
            self = .reference(reference)
        case .asset:
            var asset = if case .asset(let asset) = self { asset } else { Asset() }
            try coder.member(field, &asset)
            self = .asset(asset)
        }
    }
}

// MARK: - Lists

/// `List`: elements of one kind.
private struct WireList: Coded {
    var elements: [FieldValue] = []

    init() {}

    init(_ elements: [FieldValue]) {
        self.elements = elements
    }

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        if coder.reads {
            for kind in FieldKind.allCases { try code(elements[...], as: kind, &coder) }
        } else {
            // A list that the node accepts is one run. Others are sent as they are, so that it can
            // say what is wrong.
            for run in runs {
                if let kind = run.first?.kind {
                    try code(run, as: kind, &coder)
                } else {
                    for _ in run { try codeListInList(&coder) }
                }
            }
        }
    }

    /// Neighbours of one kind.
    private var runs: [ArraySlice<FieldValue>] {
        var runs: [ArraySlice<FieldValue>] = []
        var start = 0
        for index in elements.indices.dropFirst() where elements[index].kind != elements[start].kind
        {
            runs.append(elements[start..<index])
            start = index
        }
        if start < elements.count { runs.append(elements[start...]) }
        return runs
    }

    /// The elements of a kind; those that are read are added.
    ///
    /// Numbers are packed, as proto3 wants it.
    private mutating func code(
        _ run: ArraySlice<FieldValue>,
        as kind: FieldKind,
        _ coder: inout some Coder
    ) throws(MalformedBytes) {
        let field = Int(kind.rawValue)
        let run = coder.reads ? [] : run
        switch kind {
        case .string:
            var texts = run.compactMap(\.string)
            try coder.list(field, &texts)
            if coder.reads { elements += texts.map { .string($0) } }
        case .int64:
            var numbers = run.map { zigzag($0.int64 ?? 0) }
            try coder.packed(field, &numbers)
            if coder.reads { elements += numbers.map { .int64(unzigzag($0)) } }
        case .double:
            var numbers = run.map { ($0.double ?? 0).bitPattern }
            try coder.packedFixed64(field, &numbers)
            if coder.reads {
                elements += numbers.map { .double(Double(bitPattern: $0)) }
            }
        case .timestamp:
            var times = run.map { zigzag($0.timestamp?.millisecondsSince1970 ?? 0) }
            try coder.packed(field, &times)
            if coder.reads {
                elements += times.map {
                    .timestamp(Timestamp(millisecondsSince1970: unzigzag($0)))
                }
            }
        case .bytes:
            var contents = run.compactMap(\.bytes)
            try coder.list(field, &contents)
            if coder.reads { elements += contents.map { .bytes($0) } }
        case .location:
            var places = run.compactMap(\.location)
            try coder.list(field, &places)
            if coder.reads { elements += places.map { .location($0) } }
        case .reference:
            var references = run.compactMap(\.reference)
            try coder.list(field, &references)
            if coder.reads { elements += references.map { .reference($0) } }
        case .asset:
            var assets = run.compactMap { if case .asset(let asset) = $0 { asset } else { nil } }
            try coder.list(field, &assets)
            if coder.reads { elements += assets.map { .asset($0) } }
        }
    }

    /// A kind that the node does not know, so that it refuses the list.
    private func codeListInList(_ coder: inout some Coder) throws(MalformedBytes) {
        var list = EmptyMessage()
        try coder.member(10, &list)
    }
}
