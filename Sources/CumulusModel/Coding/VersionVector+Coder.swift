// Dots and version vectors as fields of messages and commits.
//
// `Dot` of log.proto, which has the form of `VectorEntry` in connection.proto.

extension Dot: Coded {
    package init() { self.init(Incarnation(0), 0) }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.fixed64(1, &incarnation.value)
        try coder.number(2, &seq)
    }
}

extension Coder {
    /// The entries of a vector; of those that name one incarnation, the last one counts.
    package mutating func vector(
        _ field: Int,
        _ vector: inout VersionVector
    ) throws(MalformedBytes) {
        var entries = Self.reads ? [] : vector.dots
        try list(field, &entries)
        guard Self.reads else { return }
        for entry in entries { vector[entry.incarnation] = entry.seq }
    }
}
