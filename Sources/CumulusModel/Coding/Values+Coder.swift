// Values of fields that are messages of their own: locations, references, assets.
//
// `records.proto`. They stand in the fields of records and in predicates, see CumulusWire.

/// `Location` of records.proto; what is unknown is absent.
extension Location: Coded {
    @usableFromInline
    package init() { self.init(latitude: 0, longitude: 0) }

    @usableFromInline
    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.double(1, &latitude)
        try coder.double(2, &longitude)
        try coder.optional(3, &altitude)
        try coder.optional(4, &horizontalAccuracy)
        try coder.optional(5, &verticalAccuracy)
        try coder.optional(6, &course)
        try coder.optional(7, &speed)
        var time = timestamp?.millisecondsSince1970
        try coder.optional(8, &time)
        timestamp = time.map { Timestamp(millisecondsSince1970: $0) }
    }
}

/// `Reference` of records.proto.
extension Record.Reference: Coded {
    @usableFromInline
    package init() { self.init(recordName: "") }

    @usableFromInline
    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &recordName)
        try coder.kind(2, &action, unknown: .none)
    }
}

/// `Asset` of records.proto.
extension Asset: Coded {
    @usableFromInline
    package init() { self.init(digest: [], size: 0) }

    @usableFromInline
    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &digest)
        try coder.number(2, &size)
    }
}
