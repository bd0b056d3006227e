// Answers as text, in which two worlds are compared: every byte counts, but for what may differ.
//
// Some parts may differ. A token's content, which nobody can open, and its number may; its length
// counts. Change tags of visible records, ids of notifications and new sessions' tokens may; each
// is shown by its place among the values that the caller was told. The time that a node took may.
// Times and random bytes are equal by `StillEnvironment`.

package import CumulusModel
package import CumulusNode
package import CumulusWire

package struct WireText {
    /// Values that may differ, in the order in which they came; by what they are.
    private var known: [String: [Bytes]] = [:]
    private let run: Bytes

    /// - Parameter node: The node whose tokens are shown by their kind and length.
    package init(of node: Node) {
        run = withUnsafeBytes(of: node.incarnation.value.bigEndian, Bytes.init)
    }

    /// A message of a method's answer, or the status that ends it, field by field.
    package mutating func text(of message: Bytes, _ method: Method) -> String {
        fields(of: message, [], method) ?? text(message)
    }

    /// Bytes that are no message: a sealed token by its kind and length.
    package mutating func text(_ bytes: Bytes) -> String {
        if isToken(bytes) { return "token of kind \(bytes[1]), \(bytes.count) bytes" }
        let text = String(decoding: bytes, as: UTF8.self)
        let isText = Bytes(text.utf8) == bytes && text.allSatisfy { $0 >= " " || $0 == "\n" }
        return isText ? "'\(text)'" : bytes.hex
    }

    package func isToken(_ bytes: Bytes) -> Bool {
        bytes.count > 34 && bytes[0] == 1 && (1...5).contains(bytes[1])
            && Bytes(bytes[2..<10]) == run
    }

    /// A value that may differ, as its place among earlier values.
    package mutating func place(of bytes: Bytes, among kind: String) -> String {
        var list = known[kind] ?? []
        defer { known[kind] = list }
        if let index = list.firstIndex(of: bytes) { return "\(kind) \(index)" }
        list.append(bytes)
        return "\(kind) \(list.count - 1)"
    }

    // MARK: Messages

    /// nil: it is no message.
    private mutating func fields(
        of message: Bytes,
        _ path: [UInt64],
        _ method: Method
    ) -> String? {
        var lines: [String] = []
        var reader = WireFields(message)
        while let field = reader.next() {
            let path = path + [field.number]
            let value: String
            switch field.value {
            case .number(let number):
                value = WireText.isDuration(path, method) ? "a time" : "\(number)"
            case .bytes(let bytes):
                value = variable(bytes, path, method) ?? nested(bytes, path, method) ?? text(bytes)
            }
            lines.append("\(field.number): \(value)")
        }
        return reader.isAtEnd ? lines.joined(separator: "\n") : nil
    }

    private mutating func nested(
        _ bytes: Bytes,
        _ path: [UInt64],
        _ method: Method
    ) -> String? {
        guard !bytes.isEmpty, !isToken(bytes), let text = fields(of: bytes, path, method) else {
            return nil
        }
        return "{\n  \(text.split(separator: "\n").joined(separator: "\n  "))\n}"
    }

    /// The kind of variable value at a place of a method's answer; nil if it must not differ.
    private mutating func variable(
        _ bytes: Bytes,
        _ path: [UInt64],
        _ method: Method
    ) -> String? {
        if WireText.records[method]?.contains(Array(path.dropLast())) == true, path.last == 3 {
            return place(of: bytes, among: "change tag")
        }
        switch (method, path) {
        case (.feedsFollow, [1, 1]): return place(of: bytes, among: "notification")
        case (.accountsSignIn, [1]), (.accountsRegister, [1]): return "a session's token"
        default: return nil
        }
    }

    /// Microseconds that a query took.
    private static func isDuration(_ path: [UInt64], _ method: Method) -> Bool {
        method == .recordsQuery && path == [4, 4]
    }

    /// Where records are in answers, whose third field is the change tag.
    private static let records: [Method: [[UInt64]]] = [
        .recordsFetch: [[1, 1]], .recordsModify: [[1, 1], [1, 2, 5]], .recordsList: [[1]],
        .recordsQuery: [[1]], .changesZone: [[1]], .changesFollowZone: [[1]],
        .sharingMetadata: [[1, 1], [1, 2]], .sharingAccept: [[1, 1], [1, 2]],
    ]
}

/// The fields of a protobuf message, without its schema.
private struct WireFields {
    enum Value {
        case number(UInt64)
        case bytes(Bytes)
    }

    private var rest: ArraySlice<UInt8>
    private var isBad = false

    init(_ message: Bytes) { rest = message[...] }

    /// Whether all of it was read.
    var isAtEnd: Bool { rest.isEmpty && !isBad }

    /// nil at the end, or if it is no message.
    mutating func next() -> (number: UInt64, value: Value)? {
        guard !rest.isEmpty, let key = varint(), key >> 3 > 0 else { return fail() }
        switch key & 7 {
        case 0: return varint().map { (key >> 3, .number($0)) } ?? fail()
        case 1: return bytes(8).map { (key >> 3, .bytes($0)) } ?? fail()
        case 2:
            guard let count = varint(), let bytes = bytes(count) else { return fail() }
            return (key >> 3, .bytes(bytes))
        case 5: return bytes(4).map { (key >> 3, .bytes($0)) } ?? fail()
        default: return fail()
        }
    }

    private mutating func fail() -> (number: UInt64, value: Value)? {
        isBad = !rest.isEmpty || isBad
        return nil
    }

    private mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: 0 as UInt64, to: 64, by: 7) {
            guard let byte = rest.popFirst() else {
                isBad = true
                return nil
            }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        isBad = true
        return nil
    }

    private mutating func bytes(_ count: UInt64) -> Bytes? {
        guard count <= UInt64(rest.count) else {
            isBad = true
            return nil
        }
        defer { rest = rest.dropFirst(Int(count)) }
        return Bytes(rest.prefix(Int(count)))
    }
}
