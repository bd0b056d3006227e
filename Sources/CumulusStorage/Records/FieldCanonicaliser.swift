// Turns the fields of a request into a canonical `RecordBody`, or says which field can't be stored
// and why.
//
// The node calls it before a save is queued: the writer never sees unchecked bytes. It accepts what
// libprotobuf-c accepts (unpacked lists, long varints, any order) and refuses unknown kinds,
// duplicates and values out of range. hot: once per field of a save.

package import CumulusModel

package struct FieldCanonicaliser: Sendable {
    /// The field number of `list` in `Field`.
    package static let listNumber = 10
    /// The field number of `encrypted` in `Field`.
    package static let encryptedNumber = 11

    private let values: ValueCanonicaliser
    private let isShare: Bool
    /// The fields as they came, one after the other.
    private var fields = CanonicalWriter(reserving: 512)
    private var names: [ArraySlice<UInt8>] = []
    /// The end of each field.
    private var ends: [Int] = []

    /// - Parameters:
    ///   - zoneName: Zone of the record that is saved.
    ///   - zoneOwners: The names of the zone's owner; a reference may also leave
    ///     the owner out.
    ///   - isShare: The record is a share's, some of whose fields begin with "cloudkit.".
    package init(zoneName: String, zoneOwners: [String], isShare: Bool = false) {
        values = ValueCanonicaliser(zoneName: zoneName, zoneOwners: zoneOwners)
        self.isShare = isShare
    }

    /// Checks one `Field` message.
    package mutating func add(_ field: Bytes) throws(ServiceError) {
        let name = try readName(field)
        let values = values
        do {
            try fields.message(RecordBody.fieldNumber) { (writer) throws(MalformedBytes) in
                writer.field(1, bytes: name)
                try values.write(field, to: &writer)
            }
        } catch {
            throw invalid("field '\(text(name))': \(error.reason)")
        }
        names.append(name)
        ends.append(fields.bytes.count)
    }

    /// The sorted body; a duplicate field is refused.
    package consuming func finish() throws(ServiceError) -> RecordBody {
        let body = try sorted()
        do {
            return try RecordBody(stored: body)
        } catch {
            throw invalid("the fields can't be put together: \(error.reason)")
        }
    }

    /// Most callers send the fields sorted.
    private func sorted() throws(ServiceError) -> Bytes {
        let isSorted = zip(names, names.dropFirst()).allSatisfy(precedes)
        if isSorted { return fields.bytes }
        let order = names.indices.sorted { precedes(names[$0], names[$1]) }
        var body: Bytes = []
        body.reserveCapacity(fields.bytes.count)
        var last: ArraySlice<UInt8>?
        for index in order {
            if names[index] == last {
                throw ServiceError(
                    .invalidArguments,
                    .invalidValue,
                    "field '\(text(names[index]))' is given twice; send each field once"
                )
            }
            body += fields.bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
            last = names[index]
        }
        return body
    }

    private func readName(_ field: Bytes) throws(ServiceError) -> ArraySlice<UInt8> {
        var name: Range<Int>?
        do {
            var reader = CanonicalReader(field)
            while let (number, type) = try reader.nextField() {
                if number == 1 && type == .delimited {
                    name = try reader.delimited()
                } else {
                    try reader.skip(type)
                }
            }
        } catch {
            throw invalid("a field is damaged: \(error.reason)")
        }
        let bytes = name.map { field[$0] } ?? []
        if Names.isSchemaName(bytes) { return bytes }
        _ =
            isShare
            ? try Names.checkFieldName(bytes, "field name")
            : try Names.checkSchemaName(bytes, "field name")
        return bytes
    }

    private func text(_ name: ArraySlice<UInt8>) -> String {
        String(decoding: name, as: UTF8.self)
    }

    private func invalid(_ message: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, message)
    }
}
